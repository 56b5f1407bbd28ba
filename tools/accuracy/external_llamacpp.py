"""Collected llama.cpp cases: real runs, dry runs, published file sizes. See external.py."""
import os
import re

from . import external
from .cases import Case, lines

# Short names of the shapes in the dry runs -> repository with that shape.
SHAPES = {
    "llama-2-7b": "meta-llama/Llama-2-7b-hf", "llama-3.1-8b": "meta-llama/Llama-3.1-8B",
    "llama-3.1-70b": "meta-llama/Llama-3.1-70B", "llama-3.2-1b": "meta-llama/Llama-3.2-1B",
    "qwen2.5-0.5b": "Qwen/Qwen2.5-0.5B", "qwen2.5-7b": "Qwen/Qwen2.5-7B-Instruct", "qwen2.5-72b": "Qwen/Qwen2.5-72B",
    "qwen3-4b": "Qwen/Qwen3-4B", "qwen3-8b": "Qwen/Qwen3-8B", "qwen3-30b-a3b": "Qwen/Qwen3-30B-A3B",
    "mistral-7b": "mistralai/Mistral-7B-v0.3", "mixtral-8x7b": "mistralai/Mixtral-8x7B-v0.1",
    "mistral-small-24b": "mistralai/Mistral-Small-24B-Instruct-2501", "gemma-2-9b": "google/gemma-2-9b",
    "gemma-3-4b": "google/gemma-3-4b-it", "gemma-3-27b": "google/gemma-3-27b-it",
    "gemma-3n-e4b": "google/gemma-3n-E4B-it", "phi-3-mini-4k": "microsoft/Phi-3-mini-4k-instruct",
    "phi-4": "microsoft/phi-4", "gpt-oss-20b": "openai/gpt-oss-20b", "gpt-oss-120b": "openai/gpt-oss-120b",
    "deepseek-v2-lite": "deepseek-ai/DeepSeek-V2-Lite", "deepseek-v3": "deepseek-ai/DeepSeek-V3",
    "deepseek-v3.2": "deepseek-ai/DeepSeek-V3.2", "glm-4.5-air": "zai-org/GLM-4.5-Air",
    "falcon-h1-7b": "tiiuae/Falcon-H1-7B-Instruct", "granite-4.0-h-tiny": "ibm-granite/granite-4.0-h-tiny",
    "nemotron-nano-9b-v2": "nvidia/NVIDIA-Nemotron-Nano-9B-v2", "lfm2-1.2b": "LiquidAI/LFM2-1.2B",
    "mamba-2.8b": "state-spaces/mamba-2.8b-hf", "mamba2-2.7b": "state-spaces/mamba2-2.7b",
    "llama-4-scout": "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "qwen3-next-80b-a3b": "Qwen/Qwen3-Next-80B-A3B-Instruct", "qwen3.5-35b-a3b": "Qwen/Qwen3.5-35B-A3B",
    "kimi-linear-48b-a3b": "moonshotai/Kimi-Linear-48B-A3B-Instruct", "minimax-m2": "MiniMaxAI/MiniMax-M2",
    "rwkv7-2.9b": "fla-hub/rwkv7-2.9B-world",
}
# Where the GGUF of the dry run differs from the repository's config.
OVERRIDES = {"gemma-3-4b": {"vocab_size": 262144}, "gemma-3-27b": {"vocab_size": 262144},
             "gemma-3n-e4b": {"vocab_size": 262144}, "llama-2-7b": {"max_position_embeddings": 4096}}
DRY_RUN_BUILD = "b10470"  # commit 34af94cd9, of which the dry runs are
ALL_ROWS = 2048  # rows of output a context keeps where nothing else was asked: a whole batch

# Files of gguf_file_sizes.jsonl -> repository with that shape.
FILES = {
    "Llama-3.1-70B": "meta-llama/Llama-3.1-70B", "Llama-3.1-405B": "meta-llama/Llama-3.1-405B",
    "Llama-3.1-8B": "meta-llama/Llama-3.1-8B", "Llama-3.3-70B-Instruct": "meta-llama/Llama-3.1-70B",
    "Meta-Llama-3.1-70B-Instruct": "meta-llama/Llama-3.1-70B",
    "Llama-3.1-70B (Nemotron tune, bartowski)": "meta-llama/Llama-3.1-70B",
    "DeepSeek-R1-Distill-Qwen-32B (bartowski)": "Qwen/Qwen2.5-32B",
    "Qwen2.5-Coder-7B-Instruct (bartowski)": "Qwen/Qwen2.5-7B-Instruct",
    "Hermes-3-Llama-3.2-3B (bartowski)": "meta-llama/Llama-3.2-3B",
    "gemma-4-E4B-it (bartowski)": "google/gemma-4-E4B-it", "gemma-4-E4B-it (unsloth)": "google/gemma-4-E4B-it",
    "deepsex-34b = Yi-34B (TheBloke)": "01-ai/Yi-34B", "Llama-2-7B": "meta-llama/Llama-2-7b-hf",
    "SmolLM2-135M-Instruct (tensorblock)": "HuggingFaceTB/SmolLM2-135M-Instruct",
    "dolphin-2_6-phi-2 (TheBloke)": "microsoft/phi-2", "Qwen3.5-9B": "Qwen/Qwen3.5-9B",
    "Qwen3.5-9B (unsloth)": "Qwen/Qwen3.5-9B", "Qwen3-30B-A3B": "Qwen/Qwen3-30B-A3B",
    "Qwen3.5-27B": "Qwen/Qwen3.5-27B", "Qwen3.5-27B (unsloth)": "Qwen/Qwen3.5-27B",
    "Granite-4.1-8B": "ibm-granite/granite-4.1-8b", "Gemma-4-26B-A4B-it QAT": "google/gemma-4-26B-A4B-it",
    "Gemma-4-12B-it QAT": "google/gemma-4-12b-it", "Gemma-4-E2B-it QAT": "google/gemma-4-E2B-it",
    "Qwen3-14B": "Qwen/Qwen3-14B", "Qwen3-Coder-30B-A3B": "Qwen/Qwen3-30B-A3B",
    "Qwen3.5-35B-A3B (unsloth)": "Qwen/Qwen3.5-35B-A3B", "Qwen3-0.6B": "Qwen/Qwen3-0.6B",
    "c4ai-command-r-plus": "CohereForAI/c4ai-command-r-plus", "Qwen3-32B": "Qwen/Qwen3-32B",
    "Kimi-Linear-48B-A3B": "moonshotai/Kimi-Linear-48B-A3B-Instruct",
}
# Whose files those of a list are, where the list only repeats a publisher's page.
PUBLISHED = {
    "gemma-4-E4B-it (bartowski)": "huggingface.co/bartowski/google_gemma-4-E4B-it-GGUF",
    "gemma-4-E4B-it (unsloth)": "huggingface.co/unsloth/gemma-4-E4B-it-GGUF",
    "SmolLM2-135M-Instruct (tensorblock)": "huggingface.co/tensorblock/SmolLM2-135M-Instruct-GGUF",
    "Hermes-3-Llama-3.2-3B (bartowski)": "huggingface.co/bartowski/Hermes-3-Llama-3.2-3B-GGUF",
    "dolphin-2_6-phi-2 (TheBloke)": "huggingface.co/TheBloke/dolphin-2_6-phi-2-GGUF",
    "deepsex-34b = Yi-34B (TheBloke)": "huggingface.co/TheBloke/deepsex-34b-GGUF",
}
STANDARD = re.compile(r"(F16|BF16|F32|Q[458]_[01]|Q[2-6]_K|Q[345]_K_[SML]|IQ[1-4]_(XXS|XS|S|M|NL)|MXFP4(_MOE)?)$", re.I)

# Build in use on a day, where a run prints none. Days from builds with a printed date.
BUILDS = [("2024-01-27", 2000), ("2024-05-27", 3000), ("2024-11-01", 4000), ("2025-03-31", 5000), ("2025-07-27", 6000),
          ("2025-11-09", 7000), ("2026-02-18", 8110), ("2026-04-01", 8586), ("2026-06-05", 9525),
          ("2026-07-30", 10250), ("2026-08-27", 10655)]
# What the source of a row prints and the row does not repeat, or repeats wrongly.
PRINTED = {"l115": {"quant": "Q4_0", "engine_version": "b6209"}}  # 561 matrices in Q4_0; "build: 6209"
# Mixtures of their own whose types the log of the row settles: its count of matrices by type, and the bytes of the two
# layers on the host (eval/results/hardware/i7-8700-gtx-1070-ti-8gb-32gb/leg2-baseline.stderr.log).
TYPES = {"l011": r"Q4_K_M --tensor-type ssm_out=q8_0 --tensor-type ssm_(alpha|beta)=f16"
                 r" --tensor-type attn_(qkv|gate)=q5_k --tensor-type blk\.0\.ffn_down=q6_k"
                 r" --tensor-type blk\.0\.ffn_(gate|up)=q4_k --tensor-type blk\.1\.ffn_down=q5_k"
                 r" --tensor-type blk\.1\.ffn_(gate|up)=iq4_xs"}
LAST_WITH_FULL_KEYS = "b5135"
LOG_OPTIONS = {"n_ctx": "ctx_size", "n_batch": "batch_size", "n_ubatch": "ubatch_size", "n_parallel": "parallel",
               "n_gpu_layers": "n_gpu_layers", "cache_type_k": "cache_type_k", "cache_type_v": "cache_type_v",
               "kv_unified": "kv_unified", "swa_full": "swa_full", "n_cpu_moe": "n_cpu_moe", "spec_type": "spec_type",
               "spec_draft_n_max": "spec_draft_n_max", "split_mode": "split_mode", "flash_attn": "flash_attn"}
DEVICE = r"(?!CPU)[A-Za-z]+\d+|Metal"  # in a buffer's name; what follows says how it was allocated
BACKENDS = [("CUDA", "cuda"), ("Vulkan", "vulkan"), ("ROCm", "rocm"), ("MTL", "metal"), ("Metal", "metal"),
            ("SYCL", "sycl"), ("RPC", "rpc")]


def table(path):
    """First two columns of a tab-separated file."""
    if not os.path.exists(path):
        return {}
    with open(path) as f:
        rows = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
    return {r[0]: r[1] for r in rows if len(r) > 1}


# --- dry runs ---------------------------------------------------------------------------------------------

def dry_run_options(flags):
    """The flags of a dry run as options of the contract."""
    plain = {"n_ctx": "ctx_size", "n_batch": "batch_size", "n_ubatch": "ubatch_size", "n_parallel": "parallel",
             "sm": "split_mode"}
    found = {}
    for name, setting in flags.items():
        if name in ("kv_unified", "swa_full"):
            found[name] = bool(setting)
        elif name == "flash_attn":
            found[name] = "on" if setting else "off"
        elif name == "n_outputs_max":
            found[name] = setting or flags.get("n_batch") or ALL_ROWS
        elif name == "ngl":
            found["n_gpu_layers"] = int(setting)
        elif name in ("kqv", "offload_kqv"):
            found["kv_offload"] = bool(int(setting))
        elif name == "op_offload":
            found[name] = bool(int(setting))
        elif name == "cpu_moe":
            if int(setting) < 0:
                found["cpu_moe"] = True
            elif int(setting):
                found["n_cpu_moe"] = int(setting)
        elif name == "mg":
            found["main_gpu"] = int(setting)
        elif name in ("ts", "tensor_split"):
            found["tensor_split"] = [float(x) for x in re.split(r"[,/]", str(setting))]
        elif name not in ("repack", "n_rpc_devices", "n_devices", "alloc", "events", "real_allocation"):
            found[plain.get(name, name)] = setting
    return found


def dry_run_request(row, settings, hardware):
    settings.setdefault("n_outputs_max", ALL_ROWS)  # the tools that ran keep all rows, a server does not
    model = {"ref": SHAPES[row["model"]]}
    if row["model"] in OVERRIDES:
        model["overrides"] = OVERRIDES[row["model"]]
    return {"model": model, "weights": row["quant"], "hardware": hardware,
            "engine": {"name": "llama.cpp", "version": DRY_RUN_BUILD, "options": settings}}


def remote_devices(buffers):
    """Part -> device -> bytes of the devices reached by RPC; the first listens on port 50951."""
    found = {"model": {}, "context": {}, "compute": {}}
    for key, sizes in buffers.items():
        match = re.match(r"RPC(\d+)", key)
        if not match or sizes.get("host"):
            continue
        port = re.search(r":(\d+)\]", key)
        name = f"RPC{int(port.group(1)) - 50951 if port else int(match.group(1))}"
        for part, by_device in found.items():
            by_device[name] = sizes[part]
    return found


def fit_case(row):
    observed = row["observed"]
    chosen = re.match(r"-c (\d+) -ngl (-?\d+)", observed.get("stdout") or "")
    memory = re.search(r"RPC0 \([^|]*\| *(\d+) = *(\d+)", " ".join(observed["raw_lines"]))
    if not chosen or not memory:
        return None
    settings = {"fit_target": row["flags"]["fit_target_mib"]}
    args = row["flags"]["args"]
    if args[:1] == ["-c"]:
        settings["ctx_size"] = int(args[1])
    # -c 0 and -ngl -1 leave the context at the trained one and all layers on the device.
    ctx, layers = int(chosen.group(1)) or row["shapes"]["ctx"], int(chosen.group(2))
    moved = re.search(r'-ot "([^"]*)"', observed["stdout"])
    total, free = (int(x) * 2**20 for x in memory.groups())
    hardware = {"gpu": "rtx-4090", "count": 1, "backend": "rpc", "total_bytes": total, "used_bytes": total - free}
    measured = {"ctx_size": ctx, "n_gpu_layers": layers if layers >= 0 else row["shapes"]["L"] + 1,
                "override_tensor": moved.group(1).split(",") if moved else []}
    return dry_run_request(row, settings, hardware), {"fit": measured}


def dry_run(row):
    """(request, measured) of one row, or None where it has nothing to compare."""
    kind, flags, observed = row["kind"], row["flags"], row["observed"]
    if row["model"] not in SHAPES:
        return None
    none = {"gpu": "none", "count": 1}
    if kind == "quantize-dry-run":
        if observed.get("rc") == 0:
            return dry_run_request(row, {"ctx_size": 4096}, none), {"tensor_bytes": observed["tensor_bytes"]}
    elif kind == "mem":
        if not observed.get("ok"):
            return dry_run_request(row, dry_run_options(flags), none), {"refused": True}
        measured = {k: observed[k] for k in ("context_bytes", "compute_bytes") if observed.get(k) is not None}
        return dry_run_request(row, dry_run_options(flags), none), measured
    elif kind == "offload" and observed.get("ok"):
        hardware = {"gpu": "rtx-4090", "count": int(flags.get("n_rpc_devices") or 1), "backend": "rpc"}
        return (dry_run_request(row, dry_run_options(flags), hardware),
                {"devices": remote_devices(observed.get("buffers", {}))})
    elif kind == "accel" and (flags["n_devices"] == 1 or (flags.get("events") and flags.get("real_allocation"))):
        # Stand-ins with CUDA's rules; several without events cannot be asked for. Nor can several that only measure: they
        # keep another copy of what the last card is given, and a plan is of a server, which allocates.
        # Their memory has no end, so that nothing makes the program give its copies up.
        hardware = {"gpu": "h200-sxm", "count": flags["n_devices"], "backend": "cuda", "total_bytes": 1 << 42}
        compute = {re.sub("^DEV", "CUDA", k): v for k, v in observed["compute_bytes"].items()}
        return dry_run_request(row, dry_run_options(flags), hardware), {"devices": {"compute": compute}}
    elif kind == "fit":
        return fit_case(row)
    return None


def dry_runs(path, causes):
    for number, row in lines(path):
        found = dry_run(row)
        if found:
            request, measured = found
            yield Case("dry_run", "llama.cpp", DRY_RUN_BUILD, request, measured, source=row.get("version", ""),
                       model=row["model"], label=row["id"], place=f"{os.path.basename(path)}:{number}")


# --- real runs --------------------------------------------------------------------------------------------

def build(row):
    """(build, printed?) of a run."""
    match = re.match(r"(b\d+)\b", str(row.get("engine_version") or ""))
    if match:
        return match.group(1), True
    day = row.get("date") or ""
    known = [number for start, number in BUILDS if day and start <= (day + "-28")[:10]]
    return (f"b{known[-1]}", False) if known else (None, False)


def log_options(row):
    found = {}
    for name, setting in row["flags"].items():
        if setting is None or name not in LOG_OPTIONS:
            continue
        if name == "flash_attn":
            setting = str(setting).split("->")[-1] if isinstance(setting, str) else "on" if setting else "off"
        if name == "n_gpu_layers" and not isinstance(setting, int):
            continue
        found[LOG_OPTIONS[name]] = setting
    offloaded = re.match(r"(\d+)/\d+", str(row["observed"].get("offloaded_layers") or ""))
    if offloaded:
        found["n_gpu_layers"] = int(offloaded.group(1))
    elif row["observed"].get("failed_device") or any(
            re.match(DEVICE, b) for kind in ("model_buffer_mib", "kv_buffer_mib")
            for b in row["observed"].get(kind) or {}):
        found.setdefault("n_gpu_layers", 999)  # it holds layers, so old builds were told to
    return found


def log_hardware(row, buffers):
    """Devices as the buffer names give them; sizes from the words of the source."""
    devices = sorted({m.group(0) for m in (re.match(DEVICE, b) for b in buffers) if m})
    if not devices and row["observed"].get("failed_device"):
        devices = [row["observed"]["failed_device"]]
    if not devices:
        return {"gpu": "none", "count": 1}
    backend = next((name for prefix, name in BACKENDS if devices[0].startswith(prefix)), "cuda")
    names = row.get("gpu") or []
    cards = [external.card_id(n) for n in names]
    if len(cards) == 1 and cards[0]:
        return {"gpu": cards[0], "count": len(devices), "backend": backend}
    sizes = [re.search(r"([\d.]+) ?Gi?B", n) for n in names]
    if len(names) == len(devices) and all(sizes):
        found = [{"total_bytes": int(float(s.group(1)) * 0.98 * 2**30)} for s in sizes]
        free = row["observed"].get("fit_free_mib")
        if len(found) == 1 and free and row["observed"].get("oom"):
            found[0]["used_bytes"] = found[0]["total_bytes"] - free * 2**20
        return {"devices": found, "backend": backend}
    return {"total_bytes": 2**40, "count": len(devices), "backend": backend}


def log_measured(observed):
    mib = lambda number: external.digits(number, "MiB")  # noqa: E731
    found = {}
    for there, here in (("kv_mib", "kv"), ("swa_kv_mib", "swa_kv"), ("rs_buffer_mib", "recurrent")):
        if isinstance(observed.get(there), (int, float)):
            found[here] = mib(observed[there])
    for there, here in (("model_buffer_mib", "model"), ("compute_buffer_mib", "compute")):
        sizes = observed.get(there)
        if isinstance(sizes, dict):
            found[here] = {name: mib(size) for name, size in sizes.items() if isinstance(size, (int, float))}
    failed = observed.get("failed_bytes") or int((observed.get("oom_alloc_mib") or 0) * 2**20)
    if observed.get("oom") and failed:
        found.update(started=False, failed=[observed.get("failed_device") or "CUDA0", failed])
    held = beyond_buffers(observed)
    if held is not None and held > 0:
        found["beyond_buffers"] = f"{held:.1f} MiB"
    return found


def beyond_buffers(observed):
    """What the driver shows more than before the load, less the buffers: context, libraries."""
    if observed.get("unaccounted_mib"):
        return observed["unaccounted_mib"]
    if "vram_loaded_mib" not in observed or "vram_before_mib" not in observed:
        return None
    model, compute = observed.get("model_buffer_mib") or {}, observed.get("compute_buffer_mib") or {}
    devices = [d for d in model if not d.startswith("CPU") and not d.endswith("_Host")]
    layers = re.match(r"(\d+)/(\d+)", str(observed.get("offloaded_layers") or ""))
    whole = layers is not None and layers.group(1) == layers.group(2)  # else a part of the caches is elsewhere
    if len(devices) != 1 or devices[0] not in compute or not whole or "kv_mib" not in observed:
        return None
    draft = observed.get("draft") or {}
    named = (model[devices[0]] + compute[devices[0]] + observed.get("kv_mib", 0) + observed.get("swa_kv_mib", 0)
             + (observed.get("rs_buffer_mib") or 0) + draft.get("kv_mib", 0)
             + (draft.get("compute_mib") or {}).get(devices[0], 0))
    return observed["vram_loaded_mib"] - observed["vram_before_mib"] - named


def holds_full_keys(row):
    """A file of a latent model that was converted before llama.cpp kept latent keys: its key width is that of all heads.
    A plan by name takes such a file of builds before the change alone."""
    shape = row.get("hparams") or {}
    return bool(shape.get("n_lora_kv")) and shape.get("n_embd_k_gqa") == shape.get("n_head", 0) * shape.get("n_embd_head_k", 0)


def logs(path, causes):
    names = table(os.path.join(os.path.dirname(path), "model_map_llamacpp.tsv"))
    for number, row in lines(path):
        row = {**row, **PRINTED.get(row["id"], {})}
        model = names.get(row["model"], row["model"])
        if row["engine"] != "llama.cpp" or row["confidence"] == "low" or not external.is_name(model):
            continue
        mixture = re.sub(r"^UD-", "", str(row.get("quant") or "").split(" ")[0])
        standard = STANDARD.match(mixture) is not None
        number_of_build, printed = build(row)
        measured = log_measured(row["observed"])
        engine = {"name": "llama.cpp", "options": log_options(row)}
        if number_of_build:
            engine["version"] = number_of_build
        if not printed and holds_full_keys(row):
            engine["version"] = LAST_WITH_FULL_KEYS
        figures = {"memory beyond the buffers"}
        if row.get("quant"):
            figures |= {"KV cache", "recurrent state"}
        if printed:
            figures |= {"device compute buffers", "host compute buffers"}
        if standard and mixture == row.get("quant"):
            figures.add("device model buffers")
        case = Case("llamacpp_log", "llama.cpp", number_of_build if printed else None,
                    {"model": {"ref": model}, "weights": TYPES.get(row["id"], mixture if standard else "Q8_0"), "engine": engine,
                     "hardware": log_hardware(row, {**measured.get("model", {}), **measured.get("compute", {})})},
                    measured, source=row["source"], date=row.get("date") or "", model=row["model"],
                    gpu=", ".join(row.get("gpu") or []), comment=row.get("note") or "",
                    label=f'{row["id"]} {row["model"]} {row.get("engine_version") or ""}'.strip(),
                    figures=frozenset(figures), place=f"{os.path.basename(path)}:{number}")
        case.causes = causes.of(case)
        yield case


def file_sizes(path, causes):
    for number, row in lines(path):
        if row["model"] not in FILES or not STANDARD.match(row["quant"]):
            continue
        size, unit = row["size"], {"bytes": "B"}.get(row["unit"], row["unit"])
        # bartowski's files are made with an importance matrix, which moves types of some mixtures; TheBloke's by
        # the quantiser of 2023; Qwen3-32B's of this list by Ollama's own.
        made = "i1-" if "bartowski)" in row["model"] else "2023-" if "(TheBloke)" in row["model"] else ""
        if row["source"] == "ollama/ollama#10911":
            made = "ollama-"
        printed = size if unit == "B" else f"{size!r} {unit}"
        case = Case("file_size", "llama.cpp", None,
                   {"model": {"ref": FILES[row["model"]]}, "weights": made + row["quant"].upper(),
                    "engine": {"name": "llama.cpp", "options": {"ctx_size": 4096}},
                    "hardware": {"gpu": "none", "count": 1}},
                   {"file": printed}, source=PUBLISHED.get(row["model"], row["source"]), model=row["model"],
                   label=f'{row["model"]} {row["quant"]}', place=f"{os.path.basename(path)}:{number}")
        case.causes = causes.of(case)
        yield case
