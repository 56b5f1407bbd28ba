import { describe, expect, test } from 'vitest';
import { checked, fromHash, toHash } from './link';
import { PRESETS } from './presets';

describe('link', () => {
  test.each(PRESETS.map((preset) => [preset.title, preset.request] as const))('%s comes back', async (_, request) => {
    const hash = await toHash(request);
    expect(hash).toMatch(/^#v1\.[A-Za-z0-9_-]+$/);
    expect(await fromHash(hash)).toEqual(request);
  });
  test('names in any script come back', async () => {
    const request = { ...PRESETS[0]!.request, model: { ref: '模型/<b>"é' } };
    expect(await fromHash(await toHash(request))).toEqual(request);
  });
  test('no request', async () => {
    expect(await fromHash('')).toBeUndefined();
    expect(await fromHash('#out')).toBeUndefined();
  });
  test.each(['#v1.', '#v1.AAAA', '#v1.!!!!', '#v1.q1YqSS0u'])('damaged: %s', async (hash) => {
    await expect(fromHash(hash)).rejects.toThrow();
  });
  test('half a request is made whole', () => {
    expect(checked({ model: { ref: 'a' }, workload: { concurrency: -3, sequence_tokens: 'x' } })).toMatchObject({
      engine: { name: 'vllm' }, hardware: { gpu: 'h100-sxm' }, workload: { sequence_tokens: 4096, concurrency: 1 },
    });
  });
});
