"""Header-correct model files as bytes for the tests of the command line; the data is left out."""

import json
import struct

# name -> (id, elements of a block, its bytes)
TYPES = {"F32": (0, 1, 4), "F16": (1, 1, 2), "Q5_0": (6, 32, 22), "Q5_1": (7, 32, 24), "Q8_0": (8, 32, 34),
         "Q4_0": (2, 32, 18), "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176), "Q6_K": (14, 256, 210),
         "MXFP4": (39, 32, 17)}


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    if value and isinstance(value[0], str):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(_text(v) for v in value)
    if value and isinstance(value[0], float):
        return struct.pack("<IIQ", 9, 6, len(value)) + struct.pack(f"<{len(value)}f", *value)
    return struct.pack("<IIQ", 9, 5, len(value)) + struct.pack(f"<{len(value)}i", *value)


def gguf(metadata: dict, tensors: list, align: int = 32) -> tuple[bytes, int]:
    """Header and size of the whole file. tensors: (name, extents, type)."""
    table, offset = b"", 0
    for name, extents, kind in tensors:
        number, block, size = TYPES[kind]
        table += _text(name) + struct.pack("<I", len(extents)) + struct.pack(f"<{len(extents)}Q", *extents)
        table += struct.pack("<IQ", number, offset)
        total = extents[0] // block * size
        for extent in extents[1:]:
            total *= extent
        offset += -(-total // align) * align
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    head += b"".join(_text(k) + _value(v) for k, v in metadata.items()) + table
    head += bytes(-len(head) % align)
    return head, len(head) + offset


def llama_gguf(layers=4, hidden=512, heads=8, kv_heads=2, ffn=1024, vocabulary=1000, weight="Q8_0", tokens=0,
               extra=None) -> tuple[bytes, int]:
    metadata = {
        "general.architecture": "llama", "general.file_type": {"Q8_0": 7, "F16": 1, "Q4_K": 15}[weight],
        "llama.block_count": layers, "llama.context_length": 8192, "llama.embedding_length": hidden,
        "llama.feed_forward_length": ffn, "llama.attention.head_count": heads,
        "llama.attention.head_count_kv": kv_heads, "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": hidden // heads, "llama.vocab_size": vocabulary,
        **(extra or {}),
    }
    if tokens:
        metadata["tokenizer.ggml.tokens"] = [f"token{i:09d}" for i in range(tokens)]
    kv = hidden // heads * kv_heads
    tensors = [("token_embd.weight", [hidden, vocabulary], weight)]
    for i in range(layers):
        tensors += [(f"blk.{i}.attn_norm.weight", [hidden], "F32"), (f"blk.{i}.attn_q.weight", [hidden, hidden], weight),
                    (f"blk.{i}.attn_k.weight", [hidden, kv], weight), (f"blk.{i}.attn_v.weight", [hidden, kv], weight),
                    (f"blk.{i}.attn_output.weight", [hidden, hidden], weight),
                    (f"blk.{i}.ffn_norm.weight", [hidden], "F32"), (f"blk.{i}.ffn_gate.weight", [hidden, ffn], weight),
                    (f"blk.{i}.ffn_up.weight", [hidden, ffn], weight), (f"blk.{i}.ffn_down.weight", [ffn, hidden], weight)]
    tensors += [("output_norm.weight", [hidden], "F32"), ("output.weight", [hidden, vocabulary], weight)]
    return gguf(metadata, tensors)


LLAMA_PARAMETERS = 2 * 1000 * 512 + 512 + 4 * (2 * 512 + 2 * 512 * 512 + 2 * 512 * 128 + 3 * 512 * 1024)


def safetensors(tensors: dict) -> tuple[bytes, int]:
    """tensors: name -> (dtype, shape)."""
    bits = {"BF16": 16, "F16": 16, "F32": 32, "I32": 32, "F8_E4M3": 8}
    header, offset = {}, 0
    for name, (dtype, shape) in tensors.items():
        size = bits[dtype] // 8
        for extent in shape:
            size *= extent
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text, 8 + len(text) + offset


def llama_config(layers=4, hidden=512, heads=8, kv_heads=2, ffn=1024, vocabulary=1000, **more) -> dict:
    return {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": hidden,
            "intermediate_size": ffn, "num_hidden_layers": layers, "num_attention_heads": heads,
            "num_key_value_heads": kv_heads, "vocab_size": vocabulary, "max_position_embeddings": 8192,
            "torch_dtype": "bfloat16", "tie_word_embeddings": False, **more}


def llama_tensors(layers=4, hidden=512, heads=8, kv_heads=2, ffn=1024, vocabulary=1000, dtype="BF16") -> dict:
    kv = hidden // heads * kv_heads
    tensors = {"model.embed_tokens.weight": (dtype, [vocabulary, hidden])}
    for i in range(layers):
        layer = f"model.layers.{i}."
        tensors |= {layer + "input_layernorm.weight": (dtype, [hidden]),
                    layer + "self_attn.q_proj.weight": (dtype, [hidden, hidden]),
                    layer + "self_attn.k_proj.weight": (dtype, [kv, hidden]),
                    layer + "self_attn.v_proj.weight": (dtype, [kv, hidden]),
                    layer + "self_attn.o_proj.weight": (dtype, [hidden, hidden]),
                    layer + "post_attention_layernorm.weight": (dtype, [hidden]),
                    layer + "mlp.gate_proj.weight": (dtype, [ffn, hidden]),
                    layer + "mlp.up_proj.weight": (dtype, [ffn, hidden]),
                    layer + "mlp.down_proj.weight": (dtype, [hidden, ffn])}
    return tensors | {"model.norm.weight": (dtype, [hidden]), "lm_head.weight": (dtype, [vocabulary, hidden])}


def write_sparse(path, head: bytes, size: int) -> None:
    with open(path, "wb") as file:
        file.write(head)
        file.truncate(size)
