// Compiled only: the package's types are what its README says.
import { load, VramwiseError, type Grid, type Plan } from '@vramwise/core';

const vramwise = await load();
const plan: Plan = vramwise.plan({ model: { ref: 'Qwen/Qwen3-8B' }, hardware: { gpu: 'l4' }, levers: false });
const grid: Grid = vramwise.grid({ model: { ref: 'x' } }, { sequence_tokens: [1], concurrency: [1] });
export const low: number | undefined = grid.cells[0]?.[0]?.need.total_bytes[0];
export const total: number = plan.totals.total_bytes;
export const isOurs = (error: unknown): boolean => error instanceof VramwiseError && error.code === 'not_found';
// @ts-expect-error: an answer has no such member
export const wrong = plan.total;
