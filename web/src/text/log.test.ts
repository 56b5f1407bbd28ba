import { expect, test } from 'vitest';
import type { Plan } from '../core/types';
import { commandText, logLines } from './log';

test('a command, one option a line', () => {
  expect(commandText('vllm serve Qwen/Qwen3-8B --max-model-len 8192 --enforce-eager')).toBe('vllm serve Qwen/Qwen3-8B \\\n    --max-model-len 8192 \\\n    --enforce-eager');
  expect(commandText('A="b c" ollama serve')).toBe('A="b c" ollama serve');
});

test('the log stops where memory ends', () => {
  const plan = {
    engine: { name: 'llama.cpp', options: {} },
    engine_error: 'alloc_buffer: allocating 40960.00 MiB on device 0: cudaMalloc failed: out of memory',
    log: [
      { line: 'CUDA0 model buffer size', value: 41921528064, unit: 'bytes' },
      { line: 'CUDA0 KV buffer size', value: 42949672960, unit: 'bytes' },
      { line: 'graph nodes', value: 2646, unit: 'count' },
    ],
  } as unknown as Plan;
  expect(logLines(plan).map(({ value, mark }) => [value, mark])).toEqual([
    ['39979.48 MiB', undefined], ['', 'bad'], ['40960.00 MiB', 'off'], ['2646', 'off'],
  ]);
});
