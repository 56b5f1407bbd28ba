import { describe, expect, test } from 'vitest';
import { toBase64 } from '../core/bytes';
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
  test('what would inflate without end is stopped', async () => {
    const bomb = await new Response(new Blob([new Uint8Array(64 << 20)]).stream().pipeThrough(new CompressionStream('deflate-raw'))).arrayBuffer();
    await expect(fromHash('#v1.' + toBase64(new Uint8Array(bomb)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', ''))).rejects.toThrow(/longer than/);
  });
  test.each([
    [{ model: { ref: 1 } }, 'model.ref is not a text'],
    [{ model: { ref: 'a' }, engine: { name: 'vllm', options: 'x' } }, 'engine.options is not an object'],
    [{ model: { ref: 'a' }, engine: { name: 'vllm', env: { A: 1 } } }, 'engine.env is not an object of texts'],
    [{ model: { ref: 'a' }, hardware: { gpu: [] } }, 'hardware.gpu is not a text'],
    [{ model: { ref: 'a' }, hardware: { devices: [1] } }, 'hardware.devices is not a list of objects'],
    [{ model: { ref: 'a' }, hardware: 'h100' }, 'hardware is not an object'],
    [{ engine: {} }, 'it names no model'],
  ])('a member of another type is named: %j', (value, said) => {
    expect(() => checked(value)).toThrow(said);
  });
  test('half a request is made whole', () => {
    expect(checked({ model: { ref: 'a' }, workload: { concurrency: -3, sequence_tokens: 'x' } })).toMatchObject({
      engine: { name: 'vllm' }, hardware: { gpu: 'h100-sxm' }, workload: { sequence_tokens: 4096, concurrency: 1 },
    });
  });
});
