// What the form offers for each engine. Names and values are the engine's own; nothing here computes.

export interface EngineForm {
  id: string;
  name: string;
  /** Options that the control "KV cache type" sets, all to the same value. */
  cacheOptions: string[];
  /** Label and value; null leaves the engine's default. */
  cacheTypes: [string, string | null][];
  /** Weight formats offered; '' is what the model's files say. */
  formats: string[];
  /** The format to start with. */
  format: string;
  versions: string[];
}

const safetensors = ['', 'bf16', 'fp8', 'w8a8', 'awq', 'gptq-int4', 'w4a16', 'nvfp4', 'mxfp4', 'bnb-nf4'];
const gguf = ['Q4_K_M', 'Q8_0', 'Q6_K', 'Q5_K_M', 'Q4_K_S', 'Q4_0', 'IQ4_XS', 'Q3_K_M', 'IQ3_M', 'Q2_K', 'IQ2_XXS', 'MXFP4_MOE', 'BF16'];
const minors = (major: string, newest: number, oldest: number) =>
  Array.from({ length: newest - oldest + 1 }, (_, i) => `${major}${newest - i}`);

export const ENGINES: EngineForm[] = [
  {
    id: 'vllm', name: 'vLLM', cacheOptions: ['kv_cache_dtype'],
    cacheTypes: [['auto', null], ['fp8', 'fp8']],
    formats: safetensors, format: '', versions: minors('0.', 31, 6),
  },
  {
    id: 'sglang', name: 'SGLang', cacheOptions: ['kv_cache_dtype'],
    cacheTypes: [['auto', null], ['fp8_e4m3', 'fp8_e4m3'], ['nvfp4', 'nvfp4']],
    formats: safetensors, format: '', versions: minors('0.5.', 15, 0).concat('0.4.10', '0.4.7'),
  },
  {
    id: 'trtllm', name: 'TensorRT-LLM', cacheOptions: ['kv_cache_dtype'],
    cacheTypes: [['auto', null], ['fp8', 'fp8'], ['nvfp4', 'nvfp4']],
    formats: safetensors, format: '', versions: ['1.3', '1.2', '1.1', '1.0'],
  },
  {
    id: 'llama.cpp', name: 'llama.cpp', cacheOptions: ['cache_type_k', 'cache_type_v'],
    cacheTypes: [['f16', null], ['q8_0', 'q8_0'], ['q4_0', 'q4_0']],
    formats: gguf, format: 'Q4_K_M', versions: ['b10470', 'b9520', 'b8140', 'b7407', 'b6325', 'b5913', 'b4014', 'b3087'],
  },
  {
    id: 'ollama', name: 'Ollama', cacheOptions: ['kv_cache_type'],
    cacheTypes: [['f16', null], ['q8_0', 'q8_0'], ['q4_0', 'q4_0']],
    formats: gguf, format: 'Q4_K_M', versions: ['0.33', '0.30', '0.20', '0.12'],
  },
  {
    id: 'transformers', name: 'transformers', cacheOptions: [], cacheTypes: [],
    formats: ['', 'bf16', 'fp32', 'bnb-int8', 'bnb-nf4'], format: '', versions: ['5.0', '4.57'],
  },
];

export const engineForm = (id: string): EngineForm =>
  ENGINES.find((engine) => engine.id === id) ?? { ...ENGINES[0]!, id, name: id };

/** A GGUF file's mixtures mean nothing to vLLM, and the other way round. */
export const takesGguf = (engine: string) => engine === 'llama.cpp' || engine === 'ollama';
