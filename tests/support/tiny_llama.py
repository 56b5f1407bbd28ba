"""A GGUF that llama.cpp really runs: two layers of the llama architecture with random weights and a vocabulary
of bytes and letters, made anew from a seed. Half a megabyte; what it says is nonsense, what it takes is real."""

import random
import struct
from pathlib import Path

import model_bytes

HIDDEN, HEADS, KV_HEADS, WIDTH, LAYERS, TRAINED = 64, 4, 2, 128, 2, 4096
UNKNOWN, CONTROL, NORMAL, BYTE = 2, 3, 1, 6  # token types


def vocabulary():
    """(text, score, type) of each token: SentencePiece with a fallback to bytes."""
    rows = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL)]
    rows += [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]
    letters = "\u2581abcdefghijklmnopqrstuvwxyz0123456789.,"
    return rows + [(letter, -float(i), NORMAL) for i, letter in enumerate(letters)]


def write(path: Path, seed: int = 1) -> None:
    rows = vocabulary()
    head = HIDDEN // HEADS
    metadata = {
        "general.architecture": "llama", "general.name": "tiny", "general.file_type": 1,
        "llama.context_length": TRAINED, "llama.embedding_length": HIDDEN, "llama.block_count": LAYERS,
        "llama.feed_forward_length": WIDTH, "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": KV_HEADS, "llama.rope.dimension_count": head,
        "llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.vocab_size": len(rows),
        "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": [r[0] for r in rows],
        "tokenizer.ggml.scores": [r[1] for r in rows], "tokenizer.ggml.token_type": [r[2] for r in rows],
        "tokenizer.ggml.unknown_token_id": 0, "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2,
    }
    tensors = [("token_embd.weight", (HIDDEN, len(rows)), "F16"), ("output.weight", (HIDDEN, len(rows)), "F16"),
               ("output_norm.weight", (HIDDEN,), "F32")]
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        tensors += [(block + "attn_norm.weight", (HIDDEN,), "F32"), (block + "ffn_norm.weight", (HIDDEN,), "F32"),
                    (block + "attn_q.weight", (HIDDEN, HIDDEN), "F16"),
                    (block + "attn_k.weight", (HIDDEN, head * KV_HEADS), "F16"),
                    (block + "attn_v.weight", (HIDDEN, head * KV_HEADS), "F16"),
                    (block + "attn_output.weight", (HIDDEN, HIDDEN), "F16"),
                    (block + "ffn_gate.weight", (HIDDEN, WIDTH), "F16"),
                    (block + "ffn_up.weight", (HIDDEN, WIDTH), "F16"),
                    (block + "ffn_down.weight", (WIDTH, HIDDEN), "F16")]
    header, size = model_bytes.gguf(metadata, tensors)
    source = random.Random(seed)
    data = bytearray()
    for _, extents, kind in tensors:
        data += bytes(-len(data) % 32)
        count = extents[0] * (extents[1] if len(extents) > 1 else 1)
        if kind == "F32":  # norms
            data += struct.pack(f"<{count}f", *([1.0] * count))
        else:
            data += struct.pack(f"<{count}e", *(source.gauss(0, 0.08) for _ in range(count)))
    data += bytes(size - len(header) - len(data))
    path.write_bytes(header + bytes(data))
