import { describe, expect, test } from 'vitest';
import type { Request } from '../core/types';
import { merge, optionOf, optionValue, withEngine, withHardware, withModel, withOption, withWeights } from './request';

const base: Request = {
  schema_version: 1,
  model: { ref: 'Qwen/Qwen3-8B' },
  engine: { name: 'vllm', version: '0.21', options: { max_num_seqs: 64, compilation_config: { level: 3 } } },
  hardware: { gpu: 'h100-sxm', count: 1 },
  workload: { sequence_tokens: 8192, concurrency: 4 },
};

describe('merge patch', () => {
  // The examples of RFC 7396, appendix A, that are objects.
  test.each([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('%j + %j', (target, patch, result) => expect(merge(target, patch)).toEqual(result));
  test('leaves the original alone', () => {
    const before = structuredClone(base);
    merge(base, { hardware: { count: 2 }, engine: { options: { max_num_seqs: null } } });
    expect(base).toEqual(before);
  });
});

test('another engine starts at its defaults', () => {
  const next = withEngine({ ...base, weights: 'awq' }, 'llama.cpp');
  expect(next.engine).toEqual({ name: 'llama.cpp' });
  expect(next.weights).toBe('Q4_K_M');
  expect(withEngine({ ...base, weights: 'awq' }, 'sglang').weights).toBe('awq');
  expect(withEngine(base, 'vllm')).toBe(base);
});

test('a GGUF takes the engine that reads it along', () => {
  const next = withModel(base, { header: { format: 'gguf' } });
  expect(next.engine.name).toBe('llama.cpp');
  expect(next.weights).toBeUndefined();
});

test('options: set, read, take back', () => {
  const set = withOption(base, 'gpu_memory_utilization', 0.8);
  expect(optionOf(set, 'gpu_memory_utilization')).toBe(0.8);
  expect(optionOf(set, 'compilation_config.level')).toBe(3);
  expect(optionOf(withOption(set, 'gpu_memory_utilization', null), 'gpu_memory_utilization')).toBeUndefined();
  const bare = withOption(withOption(withEngine(base, 'llama.cpp'), 'ubatch_size', 256), 'ubatch_size', null);
  expect(bare.engine).toEqual({ name: 'llama.cpp' });
  expect(withOption(base, 'env:VLLM_USE_V1', 1).engine.env).toEqual({ VLLM_USE_V1: '1' });
});

test.each([
  ['0.9', 'float', 0.9], ['true', 'bool', true], ['off', 'flag', false], ['fp8', '', 'fp8'], ['', 'int', null],
  ['{"level":3}', 'json', { level: 3 }], ['{broken', 'json', '{broken'], ['-1', 'int', -1],
])('typed option %s (%s)', (text, type, value) => expect(optionValue(text, type)).toEqual(value));

test('hardware and weights', () => {
  expect(withHardware(base, { gpu: null, total_bytes: 5 }).hardware).toEqual({ count: 1, total_bytes: 5 });
  expect('weights' in withWeights({ ...base, weights: 'fp8' }, '')).toBe(false);
});
