"""What cases are grouped by: version range, family, kind of card."""
import re

from .planner import value

# The releases at which the memory rules of an engine changed most.
RANGES = {
    "vllm": [("0.0", "V0 to 0.7"), ("0.8", "0.8 to 0.10"), ("0.11", "0.11 to 0.16"), ("0.17", "0.17 to 0.20"),
             ("0.21", "0.21 and later")],
    "sglang": [("0.0", "0.4"), ("0.5", "0.5")],
    "trtllm": [("0.0", "up to 0.x"), ("1.0", "1.0 to 1.2"), ("1.3", "1.3")],
    "llama.cpp": [("b0", "before b5000"), ("b5000", "b5000 to b7466"), ("b7467", "b7467 to b8999"),
                  ("b9000", "b9000 and later")],
}
UNIFIED = r"gb10|spark|gh200|strix|apple|m[1-5] |unified|gfx1151|jetson|thor"
CONSUMER = r"rtx|gtx|radeon|rx \d|arc|titan"
DATA_CENTRE = r"h100|h200|h20|gb?[23]00|b[23]00|a100|a10|a40|a30|l40|l4|l20|t4|v100|p100|k80|mi\d|h800|a800"


def numbers(version):
    return tuple(int(x) for x in re.findall(r"\d+", version or "")[:3])


def version_range(case):
    if not case.version:
        return "version not known"
    ranges = RANGES.get(case.engine)
    if not ranges:
        return case.engine
    if case.request.get("engine", {}).get("env", {}).get("VLLM_USE_V1") == "0":
        return ranges[0][1]
    return [name for start, name in ranges if numbers(case.version) >= numbers(start)][-1]


def card(case):
    """Kind of card, from the id in the request or the words of the source."""
    hardware = case.request.get("hardware", {})
    words = f'{hardware.get("gpu") or ""} {case.gpu}'.lower()
    if hardware.get("gpu") == "none" or "cpu" in words:
        return "CPU only"
    for pattern, name in ((UNIFIED, "unified memory"), (CONSUMER, "GeForce, RTX, Radeon"), (DATA_CENTRE, "data centre")):
        if re.search(pattern, words):
            return name
    return "card not named"


def family(shape):
    """Kind of model by its structure (the answer of `inspect`)."""
    runs = value(shape, "inspect", "cache_runs")
    if runs is None:
        return "model not known"
    kinds = " ".join(run["cache"] for run in runs)
    if "state" in kinds:
        if "latent" in kinds:
            return "states + latent attention"
        return "states + attention" if "full" in kinds or "sliding" in kinds else "states only"
    if "compressed" in kinds:
        return "compressed attention"
    if "latent" in kinds:
        return "latent attention (MLA)"
    if "sliding" in kinds or "chunked" in kinds:
        return "windows"
    experts = value(shape, "model", "active_parameters") != value(shape, "model", "parameters")
    return "full attention, experts" if experts else "full attention, dense"
