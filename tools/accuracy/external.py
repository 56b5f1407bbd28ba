"""Reads a folder of collected cases and brings them into the schema of cases.py.

The files: vllm.jsonl (vLLM, SGLang, TensorRT-LLM), llamacpp.jsonl (real runs) with
model_map_llamacpp.tsv, llamacpp_oracle.jsonl (dry runs of llama-quantize and llama.cpp contexts),
llamacpp_accel.jsonl (the same with stand-in accelerators), gguf_file_sizes.jsonl. Any may be absent.
A case there has flags as its source spells them, figures with a unit in the name, a confidence and a
note. What the file means by a word, and what may be concluded where it is silent, is here.
"""
import os
import re

from . import external_llamacpp
from .cases import Case, Causes, lines

GIB = 2**30

# How collected cases spell a card -> its id in the catalog. The first match counts.
CARDS = [
    (r"GB200", "gb200"), (r"GB300", "gb300"), (r"H100-NVL", "h100-nvl"), (r"H100", "h100-sxm"),
    (r"GH200-96", "gh200-96"), (r"H200-NVL", "h200-nvl"), (r"H200", "h200-sxm"), (r"B200", "b200"), (r"B300", "b300"),
    (r"A100-80", "a100-sxm4-80"), (r"A100-40", "a100-sxm4-40"), (r"A10G", "a10g"), (r"A10-", "a10"), (r"A40", "a40"),
    (r"L40S", "l40s"), (r"L4-|L4$", "l4"), (r"T4", "t4"), (r"Tesla K80", "k80"), (r"V100-32", "v100-32"), (r"V100-16", "v100-16"),
    (r"H20-96", "h20-96"), (r"RTX[- ]A6000", "rtx-a6000"), (r"RTX[- ]PRO[- ]6000", "rtx-pro-6000-ws"),
    (r"DGX-Spark|GB10", "dgx-spark-gb10"), (r"MI300X", "mi300x"), (r"MI325X", "mi325x"), (r"MI355X", "mi355x"),
    (r"RTX ?3090", "rtx-3090"), (r"RTX ?4090 ?-?24", "rtx-4090"), (r"RTX ?5090", "rtx-5090"),
    (r"RTX ?3060", "rtx-3060-12"), (r"RTX ?5080", "rtx-5080"),
]
NOT_A_CARD = ("class", "unknown", "modified", "inferred", "emulat")

# Spelling in the cases -> option of the contract.
OPTIONS = {
    "vllm": {"cudagraph_mode": "compilation_config.cudagraph_mode"},
    "sglang": {"tensor_parallel_size": "tp_size", "data_parallel_size": "dp_size",
               "cuda_graph_max_bs": "cuda_graph_max_bs_decode", "cuda_graph_bs": "cuda_graph_bs_decode"},
    "trtllm": {"kv_cache_free_gpu_mem_fraction": "free_gpu_memory_fraction", "ep_size": "moe_expert_parallel_size",
               "tokens_per_block": "kv_cache_config.tokens_per_block"},
}
NOT_OPTIONS = {"second_server", "engram_offload", "speculative", "load_format", "max_output_len", "env"}
# Described in words there, so a text is no value.
IN_WORDS = {"cuda_graph_bs", "cudagraph_capture_sizes", "kv_transfer_config"}

# vLLM in use from that day on, where a case names no version.
RELEASED = [
    ("2023-01-01", "0.2.0"), ("2024-01-01", "0.3.0"), ("2024-05-01", "0.4.2"), ("2024-07-01", "0.5.4"),
    ("2024-10-01", "0.6.3"), ("2025-01-25", "0.7.0"), ("2025-03-15", "0.8.0"), ("2025-05-28", "0.9.0"),
    ("2025-07-25", "0.10.0"), ("2025-10-02", "0.11.0"), ("2025-12-03", "0.12.0"), ("2025-12-20", "0.13.0"),
    ("2026-01-20", "0.15.0"), ("2026-03-05", "0.17.0"), ("2026-03-25", "0.18.0"), ("2026-04-05", "0.19.0"),
    ("2026-04-28", "0.20.0"), ("2026-05-15", "0.21.0"), ("2026-06-01", "0.22.0"), ("2026-07-01", "0.24.0"),
    ("2026-08-01", "0.26.0"), ("2026-08-20", "0.27.0"), ("2026-09-01", "0.28.0"),
]

# SGLang, the same. A log of a change's own branch is of the release that has the change.
RELEASED_SGLANG = [
    ("2024-12-04", "0.4.0"), ("2025-03-13", "0.4.4"), ("2025-04-07", "0.4.5"), ("2025-04-27", "0.4.6"),
    ("2025-06-10", "0.4.7"), ("2025-07-05", "0.4.9"), ("2025-08-13", "0.5.0"), ("2025-09-11", "0.5.2"),
    ("2025-10-06", "0.5.3"), ("2025-10-26", "0.5.4"), ("2025-12-02", "0.5.6"), ("2026-01-23", "0.5.8"),
    ("2026-06-01", "0.5.12"),
]
WITH_CHANGE = {"s029": "0.5.4"}

# What the figures are called there -> in our schema. Units are GiB whatever the name says: the
# engines print GiB as GB.
MEASURED = {
    "weights_gib": "weights", "sglang_weights_gb": "weights", "available_kv_gib": "cache_memory",
    "needed_kv_gib": "needed_cache", "activation_peak_gib": "activation", "non_torch_gib": "outside_torch",
    "cuda_graph_gib": "graphs", "cuda_graph_estimated_gib": "graphs_estimated", "peak_gib": "peak",
    "sglang_avail_after_weights_gb": "after_loading", "avail_after_weights_gb": "after_loading",
    "sglang_avail_before_gb": "before_loading", "consumed_gib": "consumed", "total_gpu_gib": "total", "budget_gib": "budget",
    "free_at_start_gib": "free_at_start", "tried_gib": "tried", "free_gib": "free",
}
COUNTS = {"kv_tokens": "pool_tokens", "sglang_tokens": "pool_tokens", "gpu_blocks": "blocks",
          "estimated_max_len": "estimated_length", "mamba_slots": "state_slots",
          "mamba_cache_blocks": "state_blocks"}
POOL_PARTS = ("sglang_k_gb", "sglang_v_gb", "kv_gb")


def card_id(name):
    if not name or any(word in name for word in NOT_A_CARD):
        return None
    return next((card for pattern, card in CARDS if re.search(pattern, name)), None)


def is_name(model):
    """Is it a repository's name, not a description?"""
    return bool(model) and not model.startswith("(") and re.fullmatch(r"[\w.-]+/[\w.-]+", model) is not None


def digits(number, unit="GiB"):
    """The printed text of a figure: the engines print two decimals and JSON drops zeros."""
    text = repr(float(number))
    decimals = len(text.partition(".")[2])
    return f"{text if decimals >= 2 else format(number, '.2f')} {unit}"


def options(case):
    found = {}
    for name, setting in {**case["flags"], **(case.get("inferred_flags") or {})}.items():
        if setting is None or name in NOT_OPTIONS or name.isupper() or name.startswith("VLLM_"):
            continue
        if isinstance(setting, str):
            if name in IN_WORDS:
                continue
            setting = setting.split("(")[0].strip()
            if name == "quantization":
                setting = setting.split(" ")[0]
                if setting == "int4":  # a description, not a value of the flag
                    continue
        if name == "limit_mm":
            match = re.fullmatch(r"(\w+) (\d+)", str(setting))
            if not match:
                continue
            name, setting = "limit_mm_per_prompt", {match.group(1): int(match.group(2))}
        found[OPTIONS[case["engine"]].get(name, name)] = setting
    return found


def environment(case):
    flags = case["flags"]
    found = {k: str(v) for k, v in flags.items() if k.isupper() or k.startswith("VLLM_")}
    for pair in str(flags.get("env") or "").replace(",", " ").split():
        name, equals, setting = pair.partition("=")
        if equals:
            found[name] = setting
    if " V0" in str(case.get("engine_version") or ""):
        found.setdefault("VLLM_USE_V1", "0")
    return found


def version(case):
    stated = str(case.get("engine_version") or "")
    match = re.search(r"\d+\.\d+(\.\d+)?(\.post\d+|rc\d+)?", stated)
    # "0.24+" is a lower bound: the day tells more.
    at_least = match and stated[match.end():].strip() == "+" and case.get("date")
    if match and not at_least and not re.match(r"0\.1(\.|$)", match.group(0)):
        return match.group(0)
    if case.get("id") in WITH_CHANGE:
        return WITH_CHANGE[case["id"]]
    days = {"vllm": RELEASED, "sglang": RELEASED_SGLANG}.get(case["engine"])
    if days and case.get("date"):
        return ([release for day, release in days if day <= case["date"]] or [None])[-1]
    return None


def hardware(case):
    observed, card = case["observed"], card_id(case.get("gpu"))
    found = {"count": case.get("gpu_count") or 1}
    total, before = observed.get("total_gpu_gib"), observed.get("sglang_avail_before_gb")
    if before and not total and card == "dgx-spark-gb10":
        total = 121.69
    if card:
        found["gpu"] = card
    if total:
        found["total_bytes"] = int(total * GIB)
    if not card and not total:
        size = re.search(r"(\d+) ?GB", case.get("gpu") or "")
        if size:  # "24GB class": an unknown card of about that size
            found["total_bytes"] = int(int(size.group(1)) * 0.98 * GIB)
        else:
            found["gpu"] = "h100-sxm"  # any: only figures that no card enters are taken from such a case
    free = observed.get("free_at_start_gib")
    if free and total and observed.get("oom") and not observed.get("weights_gib"):
        found["used_bytes"] = max(0, int((total - free) * GIB))  # others hold a part of the card
    if before and total:
        found["used_bytes"] = max(0, int((total - before) * GIB))
    return found


def serving_request(case):
    engine = {"name": case["engine"], "options": options(case)}
    if environment(case):
        engine["env"] = environment(case)
    if version(case):
        engine["version"] = version(case)
    return {"model": {"ref": case["model"]}, "engine": engine, "hardware": hardware(case)}


def serving_figures(case):
    """What the case may be asked. Drafters are not described there, and an out-of-memory start
    prints figures of a start that did not come to its end."""
    flags = {**case["flags"], **(case.get("inferred_flags") or {})}
    figures = set()
    if case["confidence"] == "low":
        return frozenset()
    if not flags.get("speculative"):
        figures |= {"pool, cache memory given", "maximum concurrency, cache memory given",
                    "cache needed by one sequence", "estimated maximum length, cache memory given"}
    figures |= {"bytes per token", "pool, memory after loading given"}
    if card_id(case.get("gpu")):
        figures.add("will it start")
        if not flags.get("speculative") and not flags.get("second_server") and not case["observed"].get("oom"):
            figures |= {"weights", "cache memory from the launch line", "pool from the launch line"}
    return frozenset(figures)


def serving_measured(observed):
    found = {}
    for there, here in MEASURED.items():
        if observed.get(there) is not None:
            found.setdefault(here, digits(observed[there]))
    for there, here in COUNTS.items():
        if observed.get(there):
            found.setdefault(here, observed[there])
    if observed.get("max_concurrency"):
        found["max_concurrency"] = digits(observed["max_concurrency"], "").strip()
    if observed.get("free_mib"):
        found.setdefault("free", digits(observed["free_mib"], "MiB"))
    parts = [digits(observed[p]) for p in POOL_PARTS if observed.get(p)]
    if parts:
        found["pool_memory"] = parts
    if observed.get("oom"):
        found["started"] = False
    elif observed.get("kv_tokens"):
        found["started"] = True
    return found


def serving(path, causes):
    for number, row in lines(path):
        if not is_name(row["model"]):
            continue
        request = serving_request(row)
        case = Case("serving", row["engine"], request["engine"].get("version"), request,
                    serving_measured(row["observed"]), source=row["source"], date=row.get("date") or "",
                    model=row["model"], gpu=row.get("gpu") or "", comment=row.get("note") or "",
                    place=f"{os.path.basename(path)}:{number}", figures=serving_figures(row))
        case.label = f'{row["id"]} {row["model"]} {row.get("gpu") or ""} {row.get("engine_version") or ""}'.strip()
        case.causes, case.other_code = causes.of(case), causes.other_code(case)
        if causes.excludes(case):
            case.figures = frozenset()
        yield case


def load(folder):
    """Every case of the folder, in our schema."""
    cases, causes = [], Causes()
    for name, read in (("vllm.jsonl", serving), ("llamacpp.jsonl", external_llamacpp.logs),
                       ("llamacpp_oracle.jsonl", external_llamacpp.dry_runs),
                       ("llamacpp_accel.jsonl", external_llamacpp.dry_runs),
                       ("gguf_file_sizes.jsonl", external_llamacpp.file_sizes)):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            cases += read(path, causes)
    return cases
