// Which contexts and users the pictures ask about, and what of a plan they draw.
import type { Plan, Request, Totals } from './types';
import { contextOf, usersOf } from '../state/request';

/** Which device the totals are of. */
export function fullest(plan: Plan): Plan['devices'][number] | undefined {
  return plan.devices.find((device) => device.reserved_bytes === plan.totals.total_bytes) ?? plan.devices[0];
}

/** Bytes that the need may grow to on the fullest card. */
export const limitOf = (plan: Plan) => fullest(plan)?.limit_bytes ?? plan.readings.need.total_bytes;

export function need(plan: Plan): Totals {
  return plan.readings.need.total_bytes > 0 ? plan.readings.need : plan.totals;
}

const ROUND = [4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096, 10240].map((k) => k * 1024);

/** Where the curve ends: the first round number past 1.9 × the longest that fits, or 1.6 × what was asked. */
export function curveEnd(request: Request, longest: number, modelLimit: number): number {
  const want = Math.max(contextOf(request) * 1.6, longest * 1.9, 4096);
  const end = ROUND.find((tokens) => tokens >= want) ?? want;
  return modelLimit > 0 && (end > modelLimit || !(want < modelLimit)) ? Math.max(modelLimit, contextOf(request)) : end;
}

export function curveAxis(end: number, points = 48): number[] {
  const step = Math.max(1, end / points);
  return [...new Set(Array.from({ length: points + 1 }, (_, i) => Math.max(Math.min(256, end), Math.round(i * step))))];
}

function nearest(values: number[], value: number): void {
  let best = 0;
  values.forEach((candidate, i) => {
    if (Math.abs(Math.log2(candidate / value)) < Math.abs(Math.log2(values[best]! / value))) best = i;
  });
  values[best] = value;
}

/** Powers of two, the nearest replaced by the plan's own: so the plan is always a cell. */
export function mapAxes(request: Request, modelLimit: number): { contexts: number[]; users: number[] } {
  const context = contextOf(request);
  const most = Math.max(Math.min(131072, modelLimit || 131072), context, 1024);
  const contexts: number[] = [];
  for (let tokens = 2 ** Math.floor(Math.log2(most)); contexts.length < 7 && tokens >= 512; tokens /= 2) contexts.unshift(tokens);
  const top = Math.max(64, 2 ** Math.ceil(Math.log2(usersOf(request))));
  const users = [6, 5, 4, 3, 2, 1, 0].map((power) => Math.max(1, top / 2 ** power));
  nearest(contexts, context);
  nearest(users, usersOf(request));
  return { contexts, users };
}
