import { expect, test } from 'vitest';
import type { Request } from '../core/types';
import { contract, modeOf, planned, trafficOf, withMode, withPreset, withTraffic } from './traffic';

const plan: Request = {
  schema_version: 1, model: { ref: 'a/b' }, engine: { name: 'vllm' }, hardware: { gpu: 'h100-sxm', count: 1 },
  workload: { sequence_tokens: 8192, concurrency: 50 },
};

test('a plan without traffic is the contract as it stands', () => {
  expect(contract(plan)).toEqual(plan);
  expect(planned(plan)).toEqual(plan);
  expect(trafficOf(contract(plan))).toBeUndefined();
});

test('traffic goes to the places of the contract and comes back', () => {
  const request = withTraffic(withMode(withPreset(plan, 'chat'), 'users', 64), { price_per_hour: 2.5, replicas: 3, router: 'round_robin', acceptance: 0.7 });
  const sent = contract(request);
  expect(sent.workload).toEqual({
    sequence_tokens: 8192, concurrency: 50, lengths: { kind: 'preset', name: 'chat' }, arrivals: { kind: 'closed', users: 64, think_seconds: 20 },
  });
  expect(sent.slo).toEqual({ ttft_seconds: 1, tpot_seconds: 0.05, quantile: 0.95 });
  expect(sent.traffic).toBeUndefined();
  expect(trafficOf(sent)).toEqual(request.traffic);
  expect(planned(request)).toEqual(plan);
});

test('the text of a recording goes to the core and not into a link', () => {
  const request = withTraffic(plan, { trace: { name: 'x.csv' } });
  expect((contract(request, 'a,b').workload as { trace: object }).trace).toEqual({ name: 'x.csv', text: 'a,b' });
  expect((contract(request).workload as { trace: object }).trace).toEqual({ name: 'x.csv' });
});

test('modes', () => {
  const chat = withPreset(plan, 'chat');
  expect(modeOf(chat.traffic)).toBe('best');
  expect(modeOf(withMode(chat, 'rate', 1).traffic)).toBe('rate');
  expect(modeOf(withMode(chat, 'trace', 1).traffic)).toBe('trace');
  // Another distribution than the recording's has no times of its own.
  expect(modeOf(withPreset(withMode(chat, 'trace', 1), 'code').traffic)).toBe('best');
  expect(withPreset(chat, '').traffic).toBeUndefined();
});
