"""The step-time parameters of the catalog, made of the measured rows: `./dev accuracy --fit-steps`.

Fitted members of catalog/speeds/step-time.json are replaced where they stand; the rest of the file (names of options, policies, bars,
shares of the peak for prompts, classes that no row measures) is somebody's reading and stays.
"""
import json
import os
import re

from .cases import ROOT

FILE = os.path.join(ROOT, "catalog", "speeds", "step-time.json")
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


def differences(parameters, rows):
    """(path, in the file, fitted) of the members that differ."""
    with open(FILE) as f:
        entry = json.load(f)
    return [(path, at(entry, path), number) for path, number in fitted_members(parameters, measured(rows)) if at(entry, path) != number]


def write(parameters, rows):
    """Puts the fit into the file and says what changed."""
    with open(FILE) as f:
        text = f.read()
    said = []
    for path, old, new in differences(parameters, rows):
        text = replaced(text, path, new)
        said.append(f"{'.'.join(path)}: {old:g} -> {new:g}")
    json.loads(text)
    with open(FILE, "w") as f:
        f.write(text)
    return said or ["catalog/speeds/step-time.json is what the rows say"]
