// Numbers for the pictures: the plan again for other contexts and users. Every number is the core's; this
// file only decides which questions to ask and puts the answers on axes.
import { ask } from './client';
import type { Outcome, Plan, Request, Totals } from './types';
import { contextOf, countOf, usersOf, withContext, withUsers } from '../state/request';

export interface Cell {
  /** Bytes needed on the fullest card. */
  need: number;
  outcome: Outcome;
}

/** A card that the map draws a line for. */
export interface ReferenceCard {
  label: string;
  limit: number;
}

export interface Grid {
  contexts: number[];
  users: number[];
  /** cells[u][c]; undefined where the engine refuses to answer. */
  cells: (Cell | undefined)[][];
  cards: ReferenceCard[];
}

// One card for each size that is sold most.
export const REFERENCE: [string, string][] = [
  ['24 GB', 'rtx-4090'], ['48 GB', 'l40s'], ['80 GB', 'h100-sxm'],
  ['96 GB', 'rtx-pro-6000-server'], ['141 GB', 'h200-sxm'], ['180 GB', 'b200'],
];

async function quick(request: Request, signal: AbortSignal): Promise<Plan | undefined> {
  const answer = await ask<Plan>('pictures', { ...request, levers: false }, signal);
  return answer.error ? undefined : answer;
}

/** Which device the totals are of. */
export function fullest(plan: Plan): Plan['devices'][number] | undefined {
  return plan.devices.find((device) => device.reserved_bytes === plan.totals.total_bytes) ?? plan.devices[0];
}

/** Bytes that the need may grow to on the fullest card. */
export const limitOf = (plan: Plan) => fullest(plan)?.limit_bytes ?? plan.readings.need.total_bytes;

export function need(plan: Plan): Totals {
  return plan.readings.need.total_bytes > 0 ? plan.readings.need : plan.totals;
}

export async function curvePoints(request: Request, contexts: number[], signal: AbortSignal) {
  const points = await Promise.all(
    contexts.map(async (tokens) => {
      const plan = await quick(withContext(request, tokens), signal);
      return plan && { tokens, totals: need(plan) };
    }),
  );
  return points.filter((point) => point !== undefined);
}

export async function mapGrid(request: Request, contexts: number[], users: number[], signal: AbortSignal): Promise<Grid> {
  const cells = await Promise.all(
    users.map((count) =>
      Promise.all(
        contexts.map(async (tokens): Promise<Cell | undefined> => {
          const plan = await quick(withUsers(withContext(request, tokens), count), signal);
          return plan && { need: need(plan).total_bytes, outcome: plan.outcome };
        }),
      ),
    ),
  );
  return { contexts, users, cells, cards: await referenceCards(request, signal) };
}

async function referenceCards(request: Request, signal: AbortSignal): Promise<ReferenceCard[]> {
  const cards = await Promise.all(
    REFERENCE.map(async ([label, gpu]) => {
      const plan = await quick({ ...request, hardware: { gpu, count: countOf(request) } }, signal);
      return plan && { label, limit: limitOf(plan) };
    }),
  );
  return cards.filter((card) => card !== undefined);
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
