// The questions people ask most.
import type { Request } from '../core/types';

export interface Preset {
  id: string;
  title: string;
  note: string;
  request: Request;
}

const request = (
  ref: string, weights: string, engine: Request['engine'], gpu: string, sequence_tokens: number, concurrency: number, count = 1,
): Request => ({
  schema_version: 1,
  model: { ref },
  ...(weights && { weights }),
  engine,
  hardware: { gpu, count },
  workload: { sequence_tokens, concurrency },
});

export const PRESETS: Preset[] = [
  {
    id: '70b', title: '70B on one 80 GB card', note: 'Llama 3.1 70B Q4_K_M, 64k × 2 users, llama.cpp',
    request: request('meta-llama/Llama-3.1-70B', 'Q4_K_M', { name: 'llama.cpp' }, 'h100-sxm', 65536, 2),
  },
  {
    id: '3090', title: 'My 3090', note: 'Qwen3 32B Q4_K_M, 20k, llama.cpp',
    request: request('Qwen/Qwen3-32B', 'Q4_K_M', { name: 'llama.cpp' }, 'rtx-3090', 20480, 1),
  },
  {
    id: '50users', title: '50 users at 8k', note: 'Llama 3.1 8B bf16 on one H100, vLLM',
    request: request('meta-llama/Llama-3.1-8B', '', { name: 'vllm' }, 'h100-sxm', 8192, 50),
  },
  {
    id: 'start', title: 'Will 32B start on one H100?', note: 'Qwen3 32B bf16, 40k, vLLM defaults',
    request: request('Qwen/Qwen3-32B', '', { name: 'vllm' }, 'h100-sxm', 40960, 1),
  },
  {
    id: 'moe', title: 'A 30B MoE on one H100', note: 'Qwen3 30B-A3B bf16, 40k × 3 users, vLLM',
    request: request('Qwen/Qwen3-30B-A3B', '', { name: 'vllm' }, 'h100-sxm', 40960, 3),
  },
  {
    id: 'large', title: 'DeepSeek V3 on eight H200', note: 'fp8, 32k × 32 users, SGLang',
    request: request('deepseek-ai/DeepSeek-V3', '', { name: 'sglang' }, 'h200-sxm', 32768, 32, 8),
  },
];
