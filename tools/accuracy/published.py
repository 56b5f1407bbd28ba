"""Published element counts beside our own: what a hub or a list printed, and why it is not our count.

tests/measured/published/totals.jsonl holds a row a model, causes.json the mechanisms. A cause with
`terms` is arithmetic over what `inspect` answers: the published figure is their sum. One with
`estimate` is somebody's formula over the config. The rest say why the figure cannot be computed.
"""
import glob
import json
import os

from .cases import MEASURED, ROOT, Case, lines
from .figures import Table, Verdicts
from .planner import refused, value

FOLDER = os.path.join(MEASURED, "published")
STORED = ("weights", "packed_words", "packed_bytes", "scales", "zero_points", "indices", "scalars", "shapes", "tables")

# Quantities that need the list of tensors.
FROM_TENSORS = {"biasless_outputs", "bnb_matrices", "rank_0", "correction_biases"}


def load_causes():
    with open(os.path.join(FOLDER, "causes.json")) as f:
        return json.load(f)["causes"]


def load_rows():
    return [row for _, row in lines(os.path.join(FOLDER, "totals.jsonl"))]


class Catalog:
    """Configs of the catalog by id and alias; a variant's differences laid over its base."""

    def __init__(self):
        self.entries = {}
        for path in glob.glob(os.path.join(ROOT, "catalog", "models", "*.json")):
            with open(path) as f:
                entry = json.load(f)
            for name in [entry["id"], *entry.get("aliases", [])]:
                self.entries[name.lower()] = entry

    def config(self, name):
        entry = self.entries.get(name.lower())
        if entry is None:
            return None
        config = dict(self.config(entry["base"]) or {}) if "base" in entry else {}
        config.update(entry.get("config") or {})
        return config


def quantities(answer):
    """What terms are made of."""
    inspect = answer["inspect"]
    found = {name: value(inspect, "stored_elements", name) or 0 for name in STORED}
    found["count"] = (answer["model"]["parameters"] + inspect["mtp_parameters"] + inspect["buffers"])
    found["mtp"] = inspect["mtp_parameters"]
    found["buffers"] = inspect["buffers"]
    found["embedding"] = inspect["vocab_size"] * inspect["hidden_size"]
    found["layers"] = inspect["layers"]
    found["positions_squared"] = inspect.get("max_positions", 0) ** 2
    found.update(dict.fromkeys(FROM_TENSORS, 0))
    tensors = inspect.get("tensors", [])
    names = {t["name"] for t in tensors}
    for t in tensors:
        copies = t.get("copies", 1)
        if t["type"].startswith(("GPTQ", "compressed-tensors")) and t["name"].removesuffix("weight") + "bias" not in names:
            found["biasless_outputs"] += t["shape"][-2] * copies
        if t["type"].startswith("bitsandbytes"):
            found["bnb_matrices"] += copies
        if t["name"].endswith(("input_max", "input_min", "output_max", "output_min")):
            found["rank_0"] += copies
        if t["name"].endswith("e_score_correction_bias"):
            found["correction_biases"] += t["shape"][-1] * copies
    return found


def dense_estimate(config):
    """_estimate_params_from_config of AlexsJones/llmfit scripts/scrape_hf_models.py."""
    hidden, layers = config.get("hidden_size") or config.get("d_model"), config.get("num_hidden_layers")
    width = config.get("intermediate_size") or config.get("d_ff")
    vocab = config.get("vocab_size")
    if not all(isinstance(x, int) for x in (hidden, layers, vocab)):
        return None
    factor = width / hidden if isinstance(width, int) else 4.0
    return int(layers * hidden * hidden * (4 + 2 * factor) + vocab * hidden)


def matrices_estimate(config):
    """estimate_params_from_arch of the same file: matrices alone, the head always apart."""
    for source in (config, config.get("text_config", {})):
        hidden, layers, vocab = (source.get(k) for k in ("hidden_size", "num_hidden_layers", "vocab_size"))
        if hidden and layers and vocab:
            break
    else:
        return None
    heads = source.get("num_attention_heads") or 1
    kv_heads = source.get("num_key_value_heads") or heads
    head_dim = source.get("head_dim") or hidden // heads
    experts = source.get("num_local_experts") or source.get("num_experts")
    width, shared = source.get("moe_intermediate_size"), source.get("shared_expert_intermediate_size") or 0
    dense = source.get("intermediate_size")
    if not all(isinstance(x, (int, type(None))) for x in (experts, width, dense)):
        return None
    if experts and width:
        feed_forward = experts * 3 * hidden * width + 3 * hidden * shared + experts * hidden
    elif dense:
        feed_forward = 3 * hidden * dense
    else:
        feed_forward = 4 * hidden * hidden
    attention = 2 * (heads + kv_heads) * head_dim * hidden
    return layers * (attention + feed_forward) + 2 * vocab * hidden


ESTIMATES = {"dense": dense_estimate, "matrices": matrices_estimate}


def predicted(cause, q, config=None, operand=None):
    """The figure that the cause makes of our quantities, as (low, high); None: it makes none."""
    if "estimate" in cause:
        figure = ESTIMATES[cause["estimate"]](config) if config else None
        return None if figure is None else (figure - 1, figure + 1)  # theirs is cut from a float
    if "terms" not in cause:
        return None
    low = high = 0
    for name, factor in cause["terms"].items():
        term = q["layers"] * operand if name == "operand_per_layer" else operand if name == "operand" else q[name]
        low += term * (factor[0] if isinstance(factor, list) else factor)
        high += term * (factor[1] if isinstance(factor, list) else factor)
    return low, high


def check(planner):
    """Every row's figure, computed again from today's answers."""
    causes, rows, catalog = load_causes(), load_rows(), Catalog()
    requests = []
    for row in rows:
        request = {"ask": "inspect", "model": {"ref": row["model"]}}
        if FROM_TENSORS & set(causes[row["cause"]].get("terms", ())):
            request["tensors"] = True
        requests.append(request)
    counts = Verdicts("published totals", "published element counts")
    for row, answer in zip(rows, planner.ask(requests)):
        case = Case("published", "", None, {}, {}, label=row["model"])
        if refused(answer):
            counts.add(case, row["cause"], refused(answer), False)
            continue
        q, cause = quantities(answer), causes[row["cause"]]
        found = predicted(cause, q, catalog.config(row.get("shape_of", row["model"])), row.get("operand"))
        if q["count"] != row["count"]:
            counts.add(case, row["cause"], f"our count is {q['count']}, was {row['count']}", False)
        elif found is None:
            counts.add(case, row["cause"], "not computable", None)
        else:
            right = found[0] <= row["published"] <= found[1]
            counts.add(case, row["cause"], f"{found[0]}…{found[1]} for {row['published']}", right)
    return counts


def suite(planner):
    """By cause: how many published figures there are, and how many come out to the element."""
    causes, groups = load_causes(), {}
    for _, cause, _, right in check(planner).rows:
        group = groups.setdefault(cause, [0, 0])
        group[0] += 1
        group[1] += right is True
    n, right = (sum(g[i] for g in groups.values()) for i in (0, 1))
    words = (f"{n} models of the catalog, or variants of them, beside the element counts that the Hugging Face hub "
             f"or a list publishes (tests/measured/published). {right} come out to the element, each by the "
             "mechanism named; the rest are no counts, or of repositories whose list of quantised modules is not known.")
    table = Table("facts", "published element counts", words, ["models", "computed", "how the figure is made of ours"])
    for cause, (count, equal) in sorted(groups.items(), key=lambda g: (-g[1][0], g[0])):
        table.rows.append([count, equal if {"terms", "estimate"} & set(causes[cause]) else "–", causes[cause]["text"]])
    return [table]
