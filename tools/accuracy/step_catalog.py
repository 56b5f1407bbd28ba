"""The step-time parameters of the catalog, made of the measured rows: `./dev accuracy --fit-steps`.

Fitted members of catalog/speeds/step-time.json are replaced where they stand; the rest of the file (names of options, policies, bars,
shares of the peak, classes that no row measures) is somebody's reading and stays. The share of the peak too: it moves the prompts of
every card, and all eight rows with more than one sequence are of one host whose cards are slow to reach each other.
"""
import json
import math
import os
import re

from . import step_fit
from .cases import ROOT

FILE = os.path.join(ROOT, "catalog", "speeds", "step-time.json")
# All rows of several cards are of these, which reach each other over the host alone.
EXCHANGE = os.path.join(ROOT, "catalog", "speeds", "rtx-3090.json")
EXCHANGED = [4096 << k for k in range(16)]  # bytes
# Engines without rows of their own take those of the one whose kernels they use.
LAYERS = {"vllm": ("vllm", "sglang", "trtllm"), "llama.cpp": ("llama.cpp", "ollama")}


def measured(rows):
    """Names of the parameters that some row depends on."""
    return {name for row in rows for name in row.parameters()}


def rounded(number):
    return float(f"{number:.2f}")


def fitted_members(parameters, known):
    """(path, number) of what the fit says; a class without rows stays at its prior in the fit and as it is in the file."""
    members = []
    for memory in ("gddr", "hbm", "unified"):
        for bits in ("16", "8", "4"):
            name = f"{memory} {bits}"
            if name in known:
                members.append((("weight_read_share", memory, bits), rounded(parameters[name])))
    members.append((("expert_factor",), rounded(parameters["experts"])))
    members.append((("routed_layer",), rounded(parameters["routing"])))
    members.append((("cache_read_share",), rounded(parameters["cache"])))
    for engine, users in LAYERS.items():
        for memory in ("gddr", "hbm", "unified"):
            name = f"layer {engine} {memory}"
            if name in known:
                members += [(("engines", user, "layer_us", memory), round(parameters[name] * 1e6)) for user in users]
    members += [(("engines", user, "weight_factor"), rounded(parameters["vllm"])) for user in LAYERS["vllm"]]
    return members


def at(entry, path):
    for key in path:
        entry = entry[key]
    return entry


def replaced(text, path, number):
    """The text of the file with that member's number, everything else as it was."""
    place = 0
    for key in path:
        place = text.index(f'"{key}":', place) + len(key) + 3
    return text[:place] + re.sub(r"^\s*[-0-9.e]+", lambda m: m.group(0)[:len(m.group(0)) - len(m.group(0).lstrip())] + f"{number:g}",
                                 text[place:], count=1)


def exchange(parameters):
    """The all-reduce table of the cards that the rows of several are of."""
    latency, bus = round(parameters["exchange latency"] * 1e6), float(f"{parameters['exchange bus'] / 1e9:.2f}")
    table = {str(ranks): [[size, round(latency * math.log2(ranks) + 2 * (ranks - 1) / ranks * size / bus / 1e3, 1)] for size in EXCHANGED]
             for ranks in (2, 4)}
    return table, f"{latency} us a doubling of the cards and {bus:g} GB/s"


def write_exchange(parameters):
    with open(EXCHANGE) as f:
        text = f.read()
    entry = json.loads(text)
    table, words = exchange(parameters)
    if entry["all_reduce_us"] == table:
        return []
    lines = [f'  "{ranks}": [\n   {", ".join(map(json.dumps, points))}\n  ]' for ranks, points in table.items()]
    begin, end = text.index('"all_reduce_us": {'), text.index("\n },") + 3
    text = text[:begin] + '"all_reduce_us": {\n' + ",\n".join(lines) + "\n }" + text[end:]
    text = re.sub(r"[0-9.]+ us a doubling of the cards and [0-9.]+ GB/s", words, text)
    json.loads(text)
    with open(EXCHANGE, "w") as f:
        f.write(text)
    return ["rtx-3090 all_reduce_us: " + words]


def differences(rows):
    """(path, in the file, fitted) of the members that differ."""
    with open(FILE) as f:
        entry = json.load(f)
    return [(path, at(entry, path), number) for path, number in fitted_members(step_fit.fit(rows), measured(rows)) if at(entry, path) != number]


def write(rows):
    """Puts the fit into the file and says what changed."""
    with open(FILE) as f:
        text = f.read()
    said = []
    for path, old, new in differences(rows):
        text = replaced(text, path, new)
        said.append(f"{'.'.join(path)}: {old:g} -> {new:g}")
    json.loads(text)
    with open(FILE, "w") as f:
        f.write(text)
    said += write_exchange(step_fit.fit(rows))
    return said or ["catalog/speeds/step-time.json is what the rows say"]
