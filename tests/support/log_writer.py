"""Writes the logs that a server of a given release would have printed, for tests of the log reader.

The wording stands here a second time on purpose: a slip in the reader's tables must not be repeated
by what it is tested with. Each writer takes the printed terms (GiB, MiB or counts, as the line has
them) and answers a Log: its text, and the fields that have to be read back from it.
"""
from log_lines import GIB, Log, read_back  # noqa: F401
from log_llamacpp import llamacpp  # noqa: F401
from log_ollama import ollama  # noqa: F401
from log_serving import sglang, trtllm  # noqa: F401
from log_vllm import vllm  # noqa: F401


def write(engine, version, terms, options=None, model="org/model"):
    """The log of a start; `terms` as in tests/data/logs/printed.jsonl."""
    if engine == "vllm":
        return vllm(version or "0.9.0", terms, options, model)
    if engine == "sglang":
        return sglang(terms, options, model, ranks=2, version=version)
    if engine == "trtllm":
        return trtllm(terms, version=version)
    if engine == "ollama":
        return ollama(version, terms)
    return llamacpp(version, terms)
