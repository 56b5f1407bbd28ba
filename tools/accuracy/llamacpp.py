"""llama.cpp: its own dry runs to the byte, real logs to the printed digit, published file sizes."""
import re

from .cases import Quantity, quantity
from .figures import Bars, Figure, Table, Verdicts
from .planner import refused, value

CACHES = ("kv_bytes", "swa_kv_bytes", "recurrent_bytes")
PARTS = ("model", "context", "compute")
HOST = ("CPU", "_Host", "host", "REPACK", "AMX")


def chosen(cases, kind, *measured):
    return [c for c in cases if c.kind == kind and all(c.measured.get(m) is not None for m in measured)]


def is_host(buffer):
    return any(word in buffer for word in HOST)


def device_names(buffers):
    """Logged name -> name in the answer: the n-th device of the log is the n-th of the answer, and a
    suffix that says how it was allocated (_Mapped) is dropped. Row-split buffers have no counterpart."""
    devices = sorted({re.sub("_Mapped$", "", b) for b in buffers if not is_host(b) and not b.endswith("_Split")})
    found = {}
    for buffer in buffers:
        bare = re.sub("_Mapped$", "", buffer)
        if bare in devices:
            prefix = {"Metal": "MTL"}.get(re.sub(r"\d+$", "", bare), re.sub(r"\d+$", "", bare))
            found[buffer] = f"{prefix}{devices.index(bare)}"
    return found


def total(part):
    return sum(part.values()) if isinstance(part, dict) else part


def quantized_files(planner, cases):
    figure = Figure("llama.cpp dry run", "tensor bytes of a mixture", groups=("family", "mixture"))
    rows = chosen(cases, "dry_run", "tensor_bytes")
    for case, answer in zip(rows, planner.ask([c.request for c in rows])):
        figure.add(case, value(answer, "model", "tensor_bytes"), case.printed("tensor_bytes"), why=refused(answer))
    return [figure]


def contexts(planner, cases):
    """Cache and compute bytes of a whole context, and configurations it refuses."""
    context = Figure("llama.cpp dry run", "cache bytes of a context", groups=("family",))
    compute = Figure("llama.cpp dry run", "compute bytes of a context", groups=("family",))
    refusal = Verdicts("llama.cpp dry run", "configurations it refuses")
    rows = [c for c in chosen(cases, "dry_run") if "context_bytes" in c.measured or "refused" in c.measured]
    for case, answer in zip(rows, planner.ask([c.request for c in rows])):
        if case.measured.get("refused"):
            outcome = value(answer, "outcome") or "error"
            # "unknown engine" is an error too, but no recognition.
            seen = outcome == "refuses_to_start" or (outcome == "error" and "unknown" not in (refused(answer) or ""))
            refusal.add(case, "refused", outcome, seen)
            continue
        buffers = value(answer, "buffers") or {}
        caches = sum(buffers.get(k) or 0 for k in CACHES) if "kv_bytes" in buffers else None
        context.add(case, caches, case.printed("context_bytes"), why=refused(answer))
        compute.add(case, total(buffers.get("compute_bytes")), case.printed("compute_bytes"), why=refused(answer))
    return [context, compute, refusal]


def devices(planner, cases):
    """Bytes per device and part; a device the answer does not name holds nothing."""
    figures = {part: Figure("llama.cpp dry run", f"{part} bytes per device", groups=("family", "backend"))
               for part in PARTS}
    rows = chosen(cases, "dry_run", "devices")
    for case, answer in zip(rows, planner.ask([c.request for c in rows])):
        buffers = value(answer, "buffers") or {}
        for part, figure in figures.items():
            field = buffers.get(part + "_bytes")
            for device, printed in case.measured["devices"].get(part, {}).items():
                predicted = field.get(device, 0) if isinstance(field, dict) else None
                figure.add(case, predicted, quantity(printed), why=refused(answer), part=device)
    return list(figures.values())


def fits(planner, cases):
    """What the program chooses for itself: -c and -ngl, and the tensors it moves to the host."""
    sizes = Verdicts("llama.cpp dry run", "chosen -c and -ngl")
    moved = Verdicts("llama.cpp dry run", "chosen tensors on the host")
    rows = chosen(cases, "dry_run", "fit")
    for case, answer in zip(rows, planner.ask([c.request for c in rows])):
        want, got = case.measured["fit"], value(answer, "fit") or {}
        same = all(got.get(k) == want[k] for k in ("ctx_size", "n_gpu_layers"))
        moved.add(case, "fitted", "others", got.get("override_tensor", []) == want["override_tensor"])
        sizes.add(case, "fitted", f'-c {got.get("ctx_size")} -ngl {got.get("n_gpu_layers")}', same)
    return [sizes, moved]


def logs(planner, cases):
    """Buffers of real runs, to the printed digit."""
    suite = "llama.cpp logs"
    kv, states = Figure(suite, "KV cache"), Figure(suite, "recurrent state")
    model, compute = Figure(suite, "device model buffers"), Figure(suite, "device compute buffers")
    host = Figure(suite, "host compute buffers")
    beyond = Bars(suite, "memory beyond the buffers")
    rows = chosen(cases, "llamacpp_log")
    for case, answer in zip(rows, planner.ask([c.request for c in rows])):
        buffers, why, m = value(answer, "buffers") or {}, refused(answer), case.measured
        caches = (buffers.get("kv_bytes") or 0) + (buffers.get("swa_kv_bytes") or 0) if "kv_bytes" in buffers else None
        if m.get("kv") and case.serves(kv.name):
            parts = [quantity(m[k]) for k in ("kv", "swa_kv") if m.get(k)]
            kv.add(case, caches, Quantity(sum(p.value for p in parts), max(p.slack for p in parts)), why=why)
        if m.get("recurrent") and case.serves(states.name):
            states.add(case, buffers.get("recurrent_bytes") if buffers else None, case.printed("recurrent"), why=why)
        for printed, field, figure in (("model", "model_bytes", model), ("compute", "compute_bytes", compute)):
            predicted, sizes = buffers.get(field), m.get(printed) or {}
            names = device_names(sizes)
            for device, bytes_ in sizes.items():
                if device.endswith("_Split"):
                    continue
                target = figure if not is_host(device) else host if figure is compute else None
                if target is None or not case.serves(target.name):
                    continue
                name = "CPU" if is_host(device) else names[device]
                target.add(case, predicted.get(name, 0) if isinstance(predicted, dict) else None,
                           quantity(bytes_), why=why, part=device)
        if m.get("beyond_buffers"):  # right after the load: the scratch of a first long prompt comes later
            ledger = [r for r in value(answer, "ledger") or [] if r.get("device") == 0
                      and r.get("component") == "runtime" and "scratch" not in r.get("item", "")]
            if ledger:
                beyond.add(case, *(sum(r[k] for r in ledger) for k in ("low_bytes", "bytes", "high_bytes")),
                           case.printed("beyond_buffers"))
    return [kv, states, model, compute, host, beyond, bars_of_logs(kv, states, model, compute, host, beyond)]


def share(rows, holds):
    return f"{sum(map(holds, rows))} of {len(rows)}" if rows else "none"


def bars_of_logs(kv, states, model, compute, host, beyond):
    """What is promised of real runs, and what is reached. A build that the source names is known; rows with a named
    cause (mixtures, shapes or splits that are not published) are left out where the bar says so."""
    table = Table("llama.cpp logs", "what is promised of real runs", "Builds are known where the source prints them; the others "
                  "are dated by the day of the run. `no cause`: the rows without a named cause.", ["promised", "reached", "no cause", "what"])

    def line(promised, figure, what, holds, known=False):
        rows = [r for r in figure.rows if r.error is not None and not (known and r.case.dated)]
        table.rows.append([promised, share(rows, holds), share([r for r in rows if not r.case.cause(figure.name)], holds), what])

    line("100 %", kv, "KV caches exact where the model is known", lambda r: r.exact)
    line("100 %", states, "recurrent states exact where the model is known", lambda r: r.exact)
    line(">= 80 %", compute, "device compute buffers to the printed digit, known builds", lambda r: r.exact, known=True)
    line(">= 80 %", compute, "device compute buffers to the printed digit, all builds", lambda r: r.exact)
    line("-", host, "host compute buffers to the printed digit, all builds", lambda r: r.exact)
    line("<= 0.1 %", model, "device model buffers of standard mixtures", lambda r: r.error <= 0.001)
    table.rows.append(["inside", share(beyond.rows, beyond.holds), "", "what the card holds beyond the buffers, inside the stated bar"])
    return table


def file_sizes(planner, cases):
    """Published GGUF files: tensor data against the file, whose tokenizer adds a little."""
    figure = Figure("GGUF files", "published file size", groups=("mixture",))
    rows = chosen(cases, "file_size", "file")
    for case, answer in zip(rows, planner.ask([c.request for c in rows])):
        size = case.printed("file")
        figure.add(case, value(answer, "model", "tensor_bytes"),
                   Quantity(size.value, size.slack + 0.003 * size.value), why=refused(answer))
    rows = [r for r in figure.rows if r.error is not None]
    named = [r for r in rows if not r.case.cause(figure.name)]
    table = Table("GGUF files", "what is promised of published files", "Standard mixtures; the difference is what rounding of "
                  "the printed size and 0.3 % for the tokenizer do not explain. `no cause`: the rows without a named cause.",
                  ["promised", "reached", "no cause", "what"],
                  [["inside", share(rows, lambda r: r.exact), share(named, lambda r: r.exact),
                    "file sizes within the printed digit and 0.3 %"]])
    return [figure, table]


def suites(planner, cases):
    return {
        "llama.cpp quantize": lambda: quantized_files(planner, cases),
        "llama.cpp contexts": lambda: contexts(planner, cases),
        "llama.cpp devices": lambda: devices(planner, cases),
        "llama.cpp fit": lambda: fits(planner, cases),
        "llama.cpp logs": lambda: logs(planner, cases),
        "gguf files": lambda: file_sizes(planner, cases),
    }
