"""Writes the startup logs of Ollama: its estimates, its own runner, and llama.cpp's lines in between."""
from log_lines import Log, version_tuple
from log_llamacpp import llamacpp

UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}

# Our name of a term: the key of the line, and the field it is read as.
ESTIMATE = [("required_full", "memory.required.full", "estimate_full"),
            ("required_partial", "memory.required.partial", "estimate_partial"),
            ("required_kv", "memory.required.kv", "estimate_cache"),
            ("weights_total", "memory.weights.total", "estimate_weights"),
            ("weights_repeating", "memory.weights.repeating", "estimate_layers"),
            ("weights_nonrepeating", "memory.weights.nonrepeating", "estimate_output"),
            ("graph_full", "memory.graph.full", "estimate_graph"),
            ("graph_partial", "memory.graph.partial", "estimate_graph_partial"),
            ("projector_weights", "projector.weights", "projector_weights"),
            ("projector_graph", "projector.graph", "projector_graph")]


def size_of(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def _estimate(log, v, terms):
    """msg="offload to cuda" (to 0.6) or msg=offload library=cuda, with one pair a term."""
    layers = terms.get("offloaded", "33/33").split("/")
    fields = {"layers_offloaded": int(layers[0]), "layers_total": int(layers[1])}
    pairs = [f"layers.requested=-1 layers.model={layers[1]} layers.offload={layers[0]} layers.split=\"{terms.get('split', '')}\"",
             f"memory.available=\"[{terms.get('available', '20.0 GiB')}]\" memory.gpu_overhead=\"0 B\""]
    for term, key, field in ESTIMATE:
        if term in terms:
            pairs.append(f'{key}="{terms[term]}"')
            fields[field] = size_of(terms[term])
        if term == "required_kv":
            pairs.append(f'memory.required.allocations="[{terms.get("required_full", "1.0 GiB")}]"')
    words = 'msg="offload to cuda"' if v < (0, 6, 0) else "msg=offload library=cuda"
    log.add(f"time=2025-05-17T10:11:12.123Z level=INFO source=server.go:138 {words} " + " ".join(pairs), **fields)


def _runner(log, terms):
    """Ollama's own engine: every buffer as a size in words."""
    head = "time=2025-05-17T10:11:12.123Z level=INFO source=device.go:240 "
    for term, words, field in (("model", "model weights", "model_buffer"), ("kv", "kv cache", "kv_buffer"),
                               ("compute", "compute graph", "compute_buffer")):
        for device, text in terms.get(term, {}).items():
            log.device(head + f'msg="{words}" device={device} size="{text}"', device, **{field: size_of(text)})
    if "total_memory" in terms:
        log.add(head + f'msg="total memory" size="{terms["total_memory"]}"', total_memory=size_of(terms["total_memory"]))
    if "offloaded" in terms:
        a, b = terms["offloaded"].split("/")
        log.add(head + f'msg="offloaded {a}/{b} layers to GPU"', layers_offloaded=int(a), layers_total=int(b))


def ollama(version, terms):
    """`terms`: `estimate` with sizes in words ("14.9 GiB"), `runner` with model, kv, compute by device and total_memory,
    `llamacpp` as log_llamacpp has them. Any of them."""
    log, v = Log(), version_tuple(version or "0.7.0")
    log.add(f"time=2025-05-17T10:11:12.123Z level=INFO source=routes.go:1205 msg=\"Listening on 127.0.0.1:11434 (version {version or '0.7.0'})\"")
    if "estimate" in terms:
        _estimate(log, v, terms["estimate"])
    if "runner" in terms:
        _runner(log, terms["runner"])
    if "llamacpp" in terms:
        inner = llamacpp(terms.get("build", "b5100"), terms["llamacpp"])
        log.lines += inner.lines
        log.expect += inner.expect
    return log
