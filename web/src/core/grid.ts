// The plan for other contexts and users, all in one question (ask "grid").
import { ask } from './client';
import type { Outcome, Request, Totals } from './types';

type Range = [low: number, likely: number, high: number];
type Part = 'weights_bytes' | 'kv_cache_bytes' | 'activations_bytes' | 'runtime_bytes' | 'total_bytes';

interface GridAnswer {
  grid: {
    gpus: { gpu: string; name: string; total_bytes: number }[];
    cells: { outcome: Outcome; need: Record<Part, Range>; gpu?: string }[][];
  };
}

export interface Cell {
  need: Totals;
  outcome: Outcome;
  /** Index of the smallest reference card that holds it; -1: none does. */
  card: number;
}

export interface Card {
  label: string;
  total: number;
}

export interface Grid {
  contexts: number[];
  users: number[];
  /** cells[u][c] */
  cells: Cell[][];
  cards: Card[];
}

// One card for each size that is sold most; colours of the map stand for these.
export const REFERENCE: [label: string, gpu: string][] = [
  ['24 GB', 'rtx-4090'], ['48 GB', 'l40s'], ['80 GB', 'h100-sxm'], ['96 GB', 'rtx-pro-6000-server'], ['141 GB', 'h200-sxm'], ['180 GB', 'b200'],
];

function totals(need: Record<Part, Range>): Totals {
  const [low, likely, high] = need.total_bytes;
  return {
    weights_bytes: need.weights_bytes[1], kv_cache_bytes: need.kv_cache_bytes[1],
    activations_bytes: need.activations_bytes[1], runtime_bytes: need.runtime_bytes[1],
    total_bytes: likely, total_low_bytes: low, total_high_bytes: high,
  };
}

/** undefined: the core cannot answer for this question (its message stands in the answer to the plan). */
export async function askGrid(request: Request, contexts: number[], users: number[], cards: boolean, signal: AbortSignal): Promise<Grid | undefined> {
  const { workload: _, ...rest } = request;
  const gpus = cards ? REFERENCE.map(([, gpu]) => gpu) : [];
  const answer = await ask<GridAnswer>('pictures', { ...rest, ask: 'grid', grid: { sequence_tokens: contexts, concurrency: users, gpus } }, signal);
  if (answer.error) return undefined;
  const { grid } = answer;
  return {
    contexts,
    users,
    cells: grid.cells.map((row) => row.map((cell) => ({ need: totals(cell.need), outcome: cell.outcome, card: cell.gpu ? gpus.indexOf(cell.gpu) : -1 }))),
    cards: grid.gpus.map((gpu) => ({ label: REFERENCE.find(([, id]) => id === gpu.gpu)?.[0] ?? gpu.name, total: gpu.total_bytes })),
  };
}
