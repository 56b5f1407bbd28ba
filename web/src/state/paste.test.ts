import { describe, expect, test } from 'vitest';
import type { Request } from '../core/types';
import { fromLaunch, kindOf } from './paste';

describe('what was pasted', () => {
  test.each([
    ['', 'nothing'], ['   \n', 'nothing'],
    ['{"model_type":"llama","hidden_size":4096}', 'config'],
    ['{"schema_version":1,"model":{"ref":"a"}}', 'request'],
    ['{"a":1}', 'json'], ['{"model_type":', 'json'],
    ['vllm serve Qwen/Qwen3-8B', 'line'], ['llama-server -m x.gguf -c 4096', 'line'],
    ['INFO 11-29 10:00:00 [gpu_worker.py:1] Available KV cache memory: 3.1 GiB', 'log'],
    ['Traceback (most recent call last):\n  File "x.py"', 'log'],
    ['torch.OutOfMemoryError: CUDA out of memory.', 'log'],
    ['load_tensors:        CUDA0 model buffer size = 39979.48 MiB', 'log'],
  ])('%s', (text, kind) => expect(kindOf(text)).toBe(kind));
});

const base: Request = {
  schema_version: 1, model: { ref: 'a' }, weights: 'awq', engine: { name: 'vllm' },
  hardware: { gpu: 'h100-sxm', count: 1 }, workload: { sequence_tokens: 4096, concurrency: 3 },
};

describe('a launch line', () => {
  test('vllm: length and cards go to the form', () => {
    const request = fromLaunch({ engine: 'vllm', model: 'Qwen/Qwen3-30B-A3B', options: { max_model_len: 32000, tensor_parallel_size: 2, kv_cache_dtype: 'fp8' } }, base);
    expect(request.workload).toEqual({ sequence_tokens: 32000, concurrency: 3 });
    expect(request.hardware.count).toBe(2);
    expect(request.engine.options).toEqual({ tensor_parallel_size: 2, kv_cache_dtype: 'fp8' });
    expect(request.weights).toBeUndefined();
  });
  test('llama.cpp: cells are split over the slots', () => {
    const request = fromLaunch({ engine: 'llama.cpp', model: '/m/Llama-3.1-70B-Q5_K_M.gguf', options: { ctx_size: 65536, parallel: 4 } }, base);
    expect(request.workload).toEqual({ sequence_tokens: 16384, concurrency: 4 });
    expect(request.engine).toEqual({ name: 'llama.cpp' });
    expect(request.model.ref).toBe('Llama-3.1-70B');
    expect(request.weights).toBe('Q5_K_M');
  });
  test('llama.cpp: what does not divide stays an option', () => {
    const request = fromLaunch({ engine: 'llama.cpp', options: { ctx_size: 10000, parallel: 3 } }, base);
    expect(request.engine.options).toEqual({ ctx_size: 10000, parallel: 3 });
    expect(request.workload.concurrency).toBe(3);
  });
});

test('recordings of requests are told by their columns', () => {
  for (const text of [
    'arrival_seconds,prompt_tokens,output_tokens\n0,20,30\n', 'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,4808,10\n',
    'Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n',
    '{"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1]}\n{"timestamp": 0, "input_length": 7322, "output_length": 490, "hash_ids": [0]}\n',
    '{"date": "20250101", "input_lens": [1, 2], "output_lens": [3, 4]}',
  ]) expect(kindOf(text)).toBe('trace');
  expect(kindOf('vllm serve a/b --max-model-len 4096 # prompt_tokens')).toBe('line');
});
