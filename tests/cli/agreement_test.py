#!/usr/bin/env python3
"""A model from its config and the same model from its files give the same numbers, to the byte.

Twenty models of the catalog in three forms each: a Q4_K_M and an F16 GGUF file, a checkpoint. The
files are made from the tensors that the config leads to, with the keys a converter would write.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
import model_bytes as m  # noqa: E402

VRAMWISE = os.environ["VRAMWISE"]

MODELS = [
    "meta-llama/Llama-2-7b-hf", "meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-70B", "meta-llama/Llama-3.2-1B",
    "mistralai/Mistral-7B-Instruct-v0.3", "mistralai/Mixtral-8x7B-v0.1", "Qwen/Qwen2.5-0.5B", "Qwen/Qwen2.5-7B",
    "Qwen/Qwen2.5-72B", "Qwen/Qwen3-4B", "Qwen/Qwen3-8B", "Qwen/Qwen3-30B-A3B", "Qwen/Qwen3-235B-A22B",
    "google/gemma-2-9b", "microsoft/phi-4", "deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-V2-Lite",
    "zai-org/GLM-4.5-Air", "MiniMaxAI/MiniMax-M2", "Qwen/Qwen3-Next-80B-A3B-Instruct",
]

# Key of a GGUF file below "<architecture>." -> keys of a config, the first one present.
KEYS = {
    "embedding_length": ["hidden_size"], "context_length": ["max_position_embeddings"],
    "attention.head_count": ["num_attention_heads"], "attention.head_count_kv": ["num_key_value_heads"],
    "feed_forward_length": ["intermediate_size"], "attention.key_length": ["head_dim"],
    "attention.value_length": ["head_dim"], "attention.sliding_window": ["sliding_window"],
    "expert_count": ["num_local_experts", "num_experts", "n_routed_experts"],
    "expert_used_count": ["num_experts_per_tok"], "attention.kv_lora_rank": ["kv_lora_rank"],
    "attention.q_lora_rank": ["q_lora_rank"], "leading_dense_block_count": ["first_k_dense_replace"],
    "ssm.conv_kernel": ["linear_conv_kernel_dim"], "ssm.state_size": ["linear_key_head_dim"],
    "ssm.group_count": ["linear_num_key_heads"], "ssm.time_step_rank": ["linear_num_value_heads"],
    "expert_group_count": ["n_group"],
}


def metadata(architecture: str, config: dict, file_type: int, names: list) -> dict:
    a = architecture + "."
    layers = config["num_hidden_layers"]
    blocks = 1 + max(int(n.split(".")[1]) for n in names if n.startswith("blk."))
    keys = {"general.architecture": architecture, "general.file_type": file_type, a + "block_count": blocks,
            a + "attention.layer_norm_rms_epsilon": 1e-6}
    if blocks > layers:
        keys[a + "nextn_predict_layers"] = blocks - layers
    for key, sources in KEYS.items():
        value = next((config[s] for s in sources if config.get(s) is not None), None)
        if isinstance(value, int) and not isinstance(value, bool):
            keys[a + key] = value
    if config.get("kv_lora_rank"):  # the absorbed form
        rope = config["qk_rope_head_dim"]
        keys |= {a + "attention.head_count_kv": 1, a + "attention.key_length": config["kv_lora_rank"] + rope,
                 a + "attention.value_length": config["kv_lora_rank"], a + "rope.dimension_count": rope,
                 a + "attention.key_length_mla": config["qk_nope_head_dim"] + rope,
                 a + "attention.value_length_mla": config["v_head_dim"]}
    if "linear_num_value_heads" in config:
        keys[a + "ssm.inner_size"] = config["linear_num_value_heads"] * config["linear_value_head_dim"]
    if config.get("partial_rotary_factor"):
        keys[a + "rope.dimension_count"] = int(config["head_dim"] * config["partial_rotary_factor"])
    if config.get("final_logit_softcapping"):
        keys[a + "final_logit_softcapping"] = float(config["final_logit_softcapping"])
        keys[a + "attn_logit_softcapping"] = float(config["attn_logit_softcapping"])
    if "norm_topk_prob" in config:
        keys[a + "expert_weights_norm"] = bool(config["norm_topk_prob"])
    if config.get("scoring_func") == "sigmoid" or "glm4_moe" in config["model_type"]:
        keys[a + "expert_gating_func"] = 2
    scale = config.get("routed_scaling_factor")
    if scale:
        keys[a + "expert_weights_scale"] = float(scale)
    return keys


class Agreement(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.at = Path(self.folder.name)

    def answer(self, *arguments):
        done = subprocess.run([VRAMWISE, *map(str, arguments), "--json", "--offline"], capture_output=True, text=True,
                              timeout=120, env={"PATH": os.environ["PATH"], "HOME": str(self.at)})
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        return json.loads(done.stdout)

    def config_of(self, model):
        request = subprocess.run([VRAMWISE, "catalog", "models", model, "--json"], capture_output=True, text=True)
        entry = json.loads(request.stdout)["catalog"]["entry"]
        # An entry may say only what differs from another one.
        return (self.config_of(entry["base"]) if "base" in entry else {}) | entry.get("config", {})

    def assert_same(self, model, a, b, parts):
        for part in ("parameters", "active_parameters", "kv_bytes_per_token", "tensor_bytes", "cache"):
            self.assertEqual(a["model"][part], b["model"][part], (model, part))
        for part in parts:
            self.assertEqual(a[part], b[part], (model, part))

    def gguf_agrees(self, model, label, file_type):
        config = self.config_of(model)
        tensors = self.answer("inspect", model, "--weights", label, "--tensors")["inspect"]["tensors"]
        plan = ("--gpu", "h200-sxm", "--count", "8", "--engine", "llama.cpp", "--ctx", "8192", "--option", "n_gpu_layers=99")
        from_config = self.answer("plan", model, "--weights", label, *plan)
        rows = [(t["name"], t["shape"], t["type"]) for t in tensors]
        architecture = ARCHITECTURES[config["model_type"]]
        keys = metadata(architecture, config, file_type, [t["name"] for t in tensors])
        m.write_sparse(self.at / "model.gguf", *m.gguf(keys, rows))
        from_file = self.answer("plan", self.at / "model.gguf", *plan)
        self.assert_same(model, from_file, from_config, ("buffers", "totals", "outcome", "kv"))

    def test_q4_k_m(self):
        for model in MODELS:
            with self.subTest(model):
                self.gguf_agrees(model, "Q4_K_M", 15)

    def test_f16(self):
        for model in MODELS:
            with self.subTest(model):
                self.gguf_agrees(model, "F16", 1)

    def test_checkpoint(self):
        for model in MODELS:
            with self.subTest(model):
                config = self.config_of(model)
                config.pop("quantization_config", None)
                listed = self.answer("inspect", model, "--weights", "bf16", "--tensors")["inspect"]["tensors"]
                names = {"bfloat16": "BF16", "float32": "F32", "float16": "F16"}
                tensors = {}
                for t in listed:
                    for e in range(t.get("copies", 1)):
                        tensors[t["name"].replace("{e}", str(e))] = (names[t["type"]], t["shape"])
                place = self.at / model.replace("/", "--")
                place.mkdir()
                m.write_sparse(place / "model.safetensors", *m.safetensors(tensors))
                (place / "config.json").write_text(json.dumps(config))
                plan = ("--gpu", "h200-sxm", "--count", "8", "--option", "tensor_parallel_size=8", "--ctx", "8192")
                from_config = self.answer("plan", place / "config.json", "--weights", "bf16", *plan)
                from_files = self.answer("plan", place, *plan)
                self.assert_same(model, from_files, from_config, ("totals", "outcome", "kv"))
                self.assertNotIn("stored_bytes_differ", [w["id"] for w in from_files["warnings"]])


ARCHITECTURES = {"llama": "llama", "mistral": "llama", "mixtral": "llama", "qwen2": "qwen2", "qwen3": "qwen3",
                 "qwen3_moe": "qwen3moe", "gemma2": "gemma2", "phi3": "phi3", "deepseek_v3": "deepseek2",
                 "deepseek_v2": "deepseek2", "glm4_moe": "glm4moe", "minimax_m2": "minimax-m2", "minimax": "minimax-m2",
                 "qwen3_next": "qwen3next"}

if __name__ == "__main__":
    unittest.main(verbosity=1)
