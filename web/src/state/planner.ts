// Every change of the question is planned at once. What moves with a slider comes first (verdict lane, one
// question in flight, the newest next); pictures, changes and cards follow and are given up when a newer
// question arrives.
import { Dropped, ask, compiled } from '../core/client';
import { askGrid } from '../core/grid';
import { curveAxis, curveEnd, fullest, limitOf, mapAxes, need } from '../core/pictures';
import type { Answer, GpuChoice, Inspect, Plan, Request } from '../core/types';
import { keepLink } from './address';
import { engineForm } from './engines';
import { gpus } from './catalog';
import { clearSimulation, simulate } from './simulate';
import { contract, planned } from './traffic';
import { inspectQuestion, planQuestion } from './questions';
import { contextOf, countOf, merge, usersOf, withContext, withWeights } from './request';
import { get, set, type CardRow, type LeverRow, type Sketch, type State } from './store';

// Cards looked at first: those that people rent or own most. The others follow.
const COMMON = (
  'rtx-3090 rtx-4090 rtx-5090 rtx-4080 rtx-4060-ti-16 rtx-3060-12 t4 l4 a10 a40 l40s rtx-6000-ada rtx-a6000 rtx-pro-6000-server ' +
  'a100-sxm4-40 a100-pcie-80 a100-sxm4-80 h100-pcie h100-nvl h100-sxm gh200-96 h200-sxm b200 b300 mi300x mi325x dgx-spark-gb10'
).split(' ');
const SHOWN_CARDS = 14;
// Milliseconds of rest before the longer searches start: while a slider moves they would only be given up.
const CHANGES_AFTER = 60;
const CARDS_AFTER = 350;
const LOAD_AFTER = 150;

const pause = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    setTimeout(() => (signal.aborted ? reject(new Dropped()) : resolve()), ms);
  });

export function sketch(plan: Plan): Sketch {
  const totals = need(plan);
  return {
    parts: {
      weights: totals.weights_bytes, activations: totals.activations_bytes,
      runtime: totals.runtime_bytes, kv_cache: totals.kv_cache_bytes,
    },
    total: totals.total_bytes,
    limit: limitOf(plan),
    card: fullest(plan)?.total_bytes ?? totals.total_bytes,
    outcome: plan.outcome,
  };
}

let inFlight = false;
let again = false;
let later: AbortController | undefined;
let modelKey = '';
let sizesKey = '';
let idle: ReturnType<typeof setTimeout> | undefined;

// A model that was just chosen: the context of the one before may be longer than this one's.
let clamp = false;

/** Takes a new question about another model; its context is cut to what the model was made for. */
export function changeModel(request: Request): void {
  clamp = true;
  void change(request);
}

/** Takes a new question; resolved once it is answered, or stands behind another. */
export async function change(request: Request): Promise<void> {
  set({ request, file: undefined, asked: get().asked + 1 });
  later?.abort();
  clearTimeout(idle);
  if (inFlight) again = true;
  else await verdict(request);
}

async function verdict(request: Request): Promise<void> {
  inFlight = true;
  const answers = get().asked;
  try {
    const key = JSON.stringify(request.model);
    const inspect = () => ask<Inspect>('verdict', inspectQuestion(request));
    const known = key === modelKey;
    let inspected: Answer<Inspect> | undefined;
    if (clamp && !known) {
      const clamped = cut(request, (inspected = await inspect()));
      if (clamped !== request && get().request === request) set({ request: (request = clamped) });
    }
    clamp = false;
    // The verdict does not wait for the facts about the model.
    const planning = ask<Plan>('verdict', planQuestion(request));
    const inspecting = known ? undefined : (inspected ?? inspect());
    const plan = await planning;
    set(plan.error ? { error: plan.error, plan: undefined, ready: true, answers } : { plan, question: request, error: undefined, ready: true, answers });
    if (inspecting) {
      const facts = await inspecting;
      modelKey = key;
      set({ inspect: facts.error ? undefined : facts, sizes: {} });
      sizesKey = '';
    }
  } catch (error) {
    set({ error: { code: 'internal', message: String(error) }, plan: undefined, ready: true, answers });
  }
  inFlight = false;
  if (again) {
    again = false;
    const next = get().request;
    if (next) void verdict(next);
    return;
  }
  void follow(request);
}

function cut(request: Request, inspected: Answer<Inspect>): Request {
  const longest = inspected.error ? 0 : inspected.inspect.max_positions;
  return longest > 0 && contextOf(request) > longest ? withContext(request, longest) : request;
}

async function follow(request: Request): Promise<void> {
  later?.abort();
  later = new AbortController();
  const { signal } = later;
  idle = setTimeout(() => void keepLink(request), 120);
  if (!get().plan) {
    clearSimulation();
    set({ levers: [], smallest: undefined, curve: undefined, map: undefined, cards: undefined, of: { levers: get().asked, pictures: get().asked, cards: get().asked } });
    return;
  }
  const quietly = (work: Promise<void>) => work.catch((error: unknown) => {
    if (!(error instanceof Dropped)) throw error;
  });
  const plan = planned(request);
  if (!(await compiled)) return;
  void quietly(pictures(plan, signal));
  void quietly(pause(CHANGES_AFTER, signal).then(() => changes(request, signal)));
  void quietly(pause(CARDS_AFTER, signal).then(() => cards(plan, signal)));
  void quietly(pause(LOAD_AFTER, signal).then(() => simulate(request, signal)));
}

/** Later work belongs to the question that was newest when it ran: an aborted one never gets here. */
function done(what: keyof State['of'], patch: Partial<State>): void {
  set({ ...patch, of: { ...get().of, [what]: get().asked } });
}

async function pictures(request: Request, signal: AbortSignal): Promise<void> {
  const { plan, inspect } = get();
  const limit = inspect?.inspect.max_positions ?? 0;
  const end = curveEnd(request, plan?.longest_sequence_tokens ?? 0, limit);
  const axes = mapAxes(request, limit);
  // One after the other, so that each is drawn when it is there and the second can still be given up.
  const row = await askGrid(request, curveAxis(end), [usersOf(request)], false, signal);
  set({ curve: row?.cells[0]?.map((cell, i) => ({ tokens: row.contexts[i]!, totals: cell.need })) });
  const map = await askGrid(request, axes.contexts, axes.users, true, signal);
  done('pictures', { map });
  performance.mark('vramwise:pictures');
  await formatSizes(request, signal);
}

/** What the weights take in each format of the list, for the list. */
async function formatSizes(request: Request, signal: AbortSignal): Promise<void> {
  const key = JSON.stringify([request.model, request.engine.name]);
  if (key === sizesKey || request.model.header) return;
  const sizes: Record<string, number> = {};
  for (const format of engineForm(request.engine.name).formats) {
    const answer = await ask<Inspect>('pictures', { ask: 'inspect', ...withWeights(request, format) }, signal);
    if (!answer.error) sizes[format] = answer.model.tensor_bytes;
  }
  sizesKey = key;
  set({ sizes });
}

async function changes(request: Request, signal: AbortSignal): Promise<void> {
  // With lengths, the first change is the length that 99 % of the requests justify.
  const question = request.traffic?.lengths && !request.traffic.trace ? contract(request) : planned(request);
  const full = await ask<Plan>('search', question, signal);
  if (full.error) return;
  const rows: LeverRow[] = full.levers.map((lever) => ({ lever }));
  done('levers', { levers: rows, smallest: full.smallest });
  const sketches = await Promise.all(
    full.levers.map(async (lever) => {
      const plan = await ask<Plan>('search', { ...merge(planned(request), lever.set), levers: false }, signal);
      return plan.error ? undefined : sketch(plan);
    }),
  );
  set({ levers: rows.map((row, i) => ({ ...row, ...(sketches[i] && { after: sketches[i] }) })) });
}

/** The fewest of each card that hold it, cheapest first; cards without a known price after them. */
function best(choices: GpuChoice[]): GpuChoice[] {
  const fewest = new Map<string, GpuChoice>();
  for (const choice of choices) {
    const known = fewest.get(choice.gpu);
    if (!known || choice.count < known.count) fewest.set(choice.gpu, choice);
  }
  return [...fewest.values()].sort((a, b) =>
    (a.usd_per_hour ?? Infinity) - (b.usd_per_hour ?? Infinity) || a.count - b.count || a.gpu.localeCompare(b.gpu, 'en'));
}

async function cards(request: Request, signal: AbortSignal): Promise<void> {
  // A slice is no card that one rents to hold a model; it can be chosen all the same.
  const all = gpus.map((gpu) => gpu.id).filter((id) => !id.includes(':'));
  const common = COMMON.filter((id) => all.includes(id));
  const rest = all.filter((id) => !common.includes(id));
  const groups = [common.slice(0, 14), common.slice(14)];
  for (let i = 0; i < rest.length; i += 24) groups.push(rest.slice(i, i + 24));
  const choices: GpuChoice[] = [];
  set({ cardsDone: false });
  await ownPrice(request, signal);
  for (const [round, only] of groups.entries()) {
    const answer = await ask<{ gpus: { choices: GpuChoice[] } }>('search', { ...question(request), ask: 'gpus', max_count: 8, only }, signal);
    if (!answer.error) choices.push(...answer.gpus.choices);
    if (round === 0) continue;
    if (round > 1 && round < groups.length - 1) continue;
    const rows: CardRow[] = best(choices).map((choice) => ({ choice }));
    // Bars of those that are shown; a row scrolled to later has its numbers all the same.
    await Promise.all(
      rows.slice(0, SHOWN_CARDS).map(async (row) => {
        const { gpu, count, options } = row.choice;
        const plan = await ask<Plan>('search', { ...merge(question(request), { hardware: { gpu, count }, engine: { options: options ?? {} } }), levers: false }, signal);
        if (!plan.error) row.sketch = sketch(plan);
      }),
    );
    done('cards', { cards: rows });
  }
  set({ cardsDone: true });
}

/** What the user's own cards cost. Offers come with choices that hold the model, so a small one asks for them. */
async function ownPrice(request: Request, signal: AbortSignal): Promise<void> {
  const { gpu, devices } = request.hardware;
  const count = countOf(request);
  if (!gpu || gpu === 'none' || devices) return set({ price: undefined });
  const small = { model: { ref: 'Qwen/Qwen3-0.6B' }, weights: 'Q4_K_M', engine: { name: 'llama.cpp' }, workload: { sequence_tokens: 256, concurrency: 1 } };
  const answer = await ask<{ gpus: { choices: GpuChoice[] } }>('search', { ask: 'gpus', ...small, hardware: { gpu, count }, only: [gpu], max_count: count }, signal);
  const offer = answer.error ? undefined : answer.gpus.choices.find((choice) => choice.count === count);
  set({ price: offer });
}

/** The question without its machine: another card is no card of the user's with a size of its own. */
function question(request: Request): Request {
  return { ...request, hardware: { gpu: request.hardware.gpu ?? 'h100-sxm', count: 1 } };
}

