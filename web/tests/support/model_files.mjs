// Small model files, written as the formats say: headers are real, the data is zeros.

const GGUF = { uint32: 4, float32: 6, string: 8, array: 9, uint64: 10 };
const TYPES = { F32: { id: 0, block: 1, bytes: 4 }, F16: { id: 1, block: 1, bytes: 2 }, Q4_K: { id: 12, block: 256, bytes: 144 }, Q6_K: { id: 14, block: 256, bytes: 210 } };

class Writer {
  parts = [];
  u32(n) { const b = Buffer.alloc(4); b.writeUInt32LE(n); this.parts.push(b); return this; }
  u64(n) { const b = Buffer.alloc(8); b.writeBigUInt64LE(BigInt(n)); this.parts.push(b); return this; }
  f32(n) { const b = Buffer.alloc(4); b.writeFloatLE(n); this.parts.push(b); return this; }
  text(s) { const b = Buffer.from(s); this.u64(b.length); this.parts.push(b); return this; }
  bytes() { return Buffer.concat(this.parts); }
}

function value(out, v) {
  if (typeof v === 'string') out.u32(GGUF.string).text(v);
  else if (Array.isArray(v)) { out.u32(GGUF.array).u32(GGUF.string).u64(v.length); for (const s of v) out.text(s); }
  else if (Number.isInteger(v)) out.u32(GGUF.uint32).u32(v);
  else out.u32(GGUF.float32).f32(v);
}

/** GGUF version 3. tensors: [name, shape (fastest first), type]. */
export function gguf(metadata, tensors, alignment = 32) {
  const head = new Writer();
  head.parts.push(Buffer.from('GGUF'));
  head.u32(3).u64(tensors.length).u64(Object.keys(metadata).length);
  for (const [key, v] of Object.entries(metadata)) { head.text(key); value(head, v); }
  const align = (n) => Math.ceil(n / alignment) * alignment;
  let offset = 0;
  for (const [name, shape, type] of tensors) {
    const { id, block, bytes } = TYPES[type];
    head.text(name).u32(shape.length);
    for (const n of shape) head.u64(n);
    head.u32(id).u64(offset);
    offset = align(offset + (shape.reduce((a, b) => a * b, 1) / block) * bytes);
  }
  const header = head.bytes();
  return Buffer.concat([header, Buffer.alloc(align(header.length) - header.length + offset)]);
}

/** A Llama of two layers with a long tokenizer, so that the header takes more than one read. */
export function smallLlama({ tokens = 80_000 } = {}) {
  const [layers, hidden, ffn, heads, kvHeads, head] = [2, 256, 512, 4, 2, 64];
  const vocabulary = Array.from({ length: tokens }, (_, i) => `token number ${i}`);
  const tensors = [['token_embd.weight', [hidden, tokens], 'Q4_K'], ['output_norm.weight', [hidden], 'F32'], ['output.weight', [hidden, tokens], 'Q6_K']];
  for (let i = 0; i < layers; ++i) {
    const t = (name, shape, type) => tensors.push([`blk.${i}.${name}.weight`, shape, type]);
    t('attn_norm', [hidden], 'F32'); t('ffn_norm', [hidden], 'F32');
    t('attn_q', [hidden, heads * head], 'Q4_K'); t('attn_k', [hidden, kvHeads * head], 'Q4_K'); t('attn_v', [hidden, kvHeads * head], 'Q6_K'); t('attn_output', [heads * head, hidden], 'Q4_K');
    t('ffn_gate', [hidden, ffn], 'Q4_K'); t('ffn_up', [hidden, ffn], 'Q4_K'); t('ffn_down', [ffn, hidden], 'Q6_K');
  }
  return gguf({
    'general.architecture': 'llama', 'general.name': 'Small <b>Llama</b>', 'general.file_type': 15,
    'llama.block_count': layers, 'llama.context_length': 8192, 'llama.embedding_length': hidden, 'llama.feed_forward_length': ffn,
    'llama.attention.head_count': heads, 'llama.attention.head_count_kv': kvHeads, 'llama.attention.layer_norm_rms_epsilon': 1e-5,
    'llama.rope.dimension_count': head, 'llama.vocab_size': tokens,
    'tokenizer.ggml.model': 'gpt2', 'tokenizer.ggml.tokens': vocabulary,
  }, tensors);
}

const SIZES = { BF16: 2, F32: 4, F16: 2 };

/** tensors: [name, shape, dtype]. */
export function safetensors(tensors) {
  const header = {};
  let offset = 0;
  for (const [name, shape, dtype] of tensors) {
    const bytes = shape.reduce((a, b) => a * b, 1) * SIZES[dtype];
    header[name] = { dtype, shape, data_offsets: [offset, (offset += bytes)] };
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, Buffer.alloc(offset)]);
}

export const smallConfig = {
  architectures: ['LlamaForCausalLM'], model_type: 'llama', hidden_size: 256, intermediate_size: 512, num_hidden_layers: 2,
  num_attention_heads: 4, num_key_value_heads: 2, head_dim: 64, vocab_size: 1024, max_position_embeddings: 4096, torch_dtype: 'bfloat16', tie_word_embeddings: false,
};

export function smallCheckpoint() {
  const tensors = [['model.embed_tokens.weight', [1024, 256], 'BF16'], ['model.norm.weight', [256], 'BF16'], ['lm_head.weight', [1024, 256], 'BF16']];
  for (let i = 0; i < 2; ++i) {
    const t = (name, shape) => tensors.push([`model.layers.${i}.${name}.weight`, shape, 'BF16']);
    t('input_layernorm', [256]); t('post_attention_layernorm', [256]);
    t('self_attn.q_proj', [256, 256]); t('self_attn.k_proj', [128, 256]); t('self_attn.v_proj', [128, 256]); t('self_attn.o_proj', [256, 256]);
    t('mlp.gate_proj', [512, 256]); t('mlp.up_proj', [512, 256]); t('mlp.down_proj', [256, 512]);
  }
  return tensors;
}
