// Asks the core. Three lanes, so that a slow question never stands before a quick one:
//   verdict   what is shown at once (a plan without the search for changes)
//   pictures  curve, map, bars of other cards
//   search    changes, cards, prices
//   load      a simulated load: seconds of work, so giving up ends the worker itself
// Each lane is a worker; where a worker cannot start, the main thread answers.
import type { Answer } from './types';
import { compile } from './compile';
import { complete, instantiate, type Core, type Part } from './module';
import type { Compiled, FromWorker, Stopped, Question, ToWorker } from './worker';

export type Lane = 'verdict' | 'pictures' | 'search' | 'load';
export class Dropped extends Error {}

interface Waiting {
  resolve(answer: string): void;
  reject(error: Error): void;
}

interface Line {
  post(question: Question): void;
  drop(id: number): void;
}

// Resolved by the first lane; by the main thread where that cannot start.
let takeModule: (module: WebAssembly.Module | Promise<WebAssembly.Module>) => void;
const module = new Promise<WebAssembly.Module>((resolve) => { takeModule = resolve; });
// The packed module stands at the end of the page, behind the form.
let takePacked: (packed: string) => void;
const packed = new Promise<string>((resolve) => { takePacked = resolve; });
/** The module is compiled: before that, further lanes would only take time from it. */
export const compiled = module.then(() => true, () => false);
let workerText = '';
let number = 0;
const waiting = new Map<number, Waiting>();
const lines = new Map<Lane, Line>();

/** How long the core itself took for the last answer of a lane, in milliseconds. */
export const lastTook: Partial<Record<Lane, number>> = {};

/** The script of all workers; before anything is asked. */
export const giveWorker = (script: string): void => { workerText = script; };

/** Starts the first lane, so that its worker is there when the module is. */
export const start = (): void => void line('verdict');

/** The packed module: the first lane unpacks and compiles it beside the page. */
export const giveCore = (core: string): void => takePacked(core);

const compileHere = () => takeModule(packed.then(compile));

function settle(lane: Lane, { id, answer, failure, ms }: FromWorker): void {
  if (!Object.keys(lastTook).length) performance.mark('vramwise:core');
  lastTook[lane] = ms;
  const asked = waiting.get(id);
  waiting.delete(id);
  if (answer !== undefined) asked?.resolve(answer);
  else asked?.reject(new Error(failure));
}

function workerLine(lane: Lane, url: string): Line {
  const worker = new Worker(url, { name: lane });
  const send = (message: ToWorker) => worker.postMessage(message);
  worker.onmessage = ({ data }: MessageEvent<FromWorker | Compiled | Stopped>) => {
    if ('stopped' in data) return instead();
    if (!('module' in data)) return settle(lane, data);
    performance.mark('vramwise:compiled');
    takeModule(data.module);
  };
  // It could not start or died: the main thread takes over, with what is still unanswered.
  const instead = () => {
    worker.terminate();
    if (lane === 'verdict') compileHere();
    const line = mainLine(lane);
    lines.set(lane, line);
    for (const question of sent.values()) line.post(question);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    instead();
  };
  const sent = new Map<number, Question>();
  if (lane === 'verdict') void packed.then((core) => send({ packed: core }));
  else void module.then((compiled) => send({ module: compiled }));
  return {
    post(question) {
      for (const id of sent.keys()) if (!waiting.has(id)) sent.delete(id);
      sent.set(question.id, question);
      send({ ask: question });
    },
    drop(id) {
      sent.delete(id);
      if (lane === 'load') {
        worker.terminate();
        lines.delete(lane);
      } else {
        send({ drop: id });
      }
    },
  };
}

let mainCore: Promise<Core> | undefined;
function mainLine(lane: Lane): Line {
  mainCore ??= module.then(instantiate);
  mainCore.catch(() => {}); // each question says so
  return {
    async post({ id, request, parts, recording }) {
      const started = performance.now();
      try {
        const core = await mainCore!;
        await new Promise((resume) => setTimeout(resume));
        if (!waiting.has(id)) return;
        settle(lane, { id, answer: core.handle(complete({ request, ...(recording !== undefined && { recording }) }), parts), ms: performance.now() - started });
      } catch (error) {
        settle(lane, { id, failure: String(error), ms: performance.now() - started });
      }
    },
    drop() {},
  };
}

let workerUrl: string | undefined;
function line(lane: Lane): Line {
  let found = lines.get(lane);
  if (!found) {
    try {
      workerUrl ??= URL.createObjectURL(new Blob([workerText], { type: 'text/javascript' }));
      found = workerLine(lane, workerUrl);
    } catch {
      if (lane === 'verdict') compileHere();
      found = mainLine(lane);
    }
    lines.set(lane, found);
  }
  return found;
}

// The core answers the same question always the same: going back is free. Files and recordings are left out,
// their text is no part of the key; so is what is too long to be worth keeping.
const MOST_KEPT = 256;
const LONGEST_KEPT = 1 << 18;
const kept = new Map<string, string>();

function keep(request: string, answer: string): void {
  if (request.length + answer.length > LONGEST_KEPT) return;
  kept.set(request, answer);
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value!);
}

/** An answer that the core gave to the build of this page. */
export const knowAnswer = keep;

/** The answer as text, exactly as the core gave it. Rejects with Dropped once `signal` fires. */
export function askText(lane: Lane, question: object, signal?: AbortSignal, parts?: Part[], recording?: string): Promise<string> {
  const id = ++number;
  const request = JSON.stringify(question);
  const whole = !parts && recording === undefined;
  return new Promise<string>((resolve, reject) => {
    if (signal?.aborted) return reject(new Dropped());
    const known = whole ? kept.get(request) : undefined;
    if (known !== undefined) {
      keep(request, known);
      return resolve(known);
    }
    waiting.set(id, { resolve: whole ? (answer) => (keep(request, answer), resolve(answer)) : resolve, reject });
    line(lane).post({ id, request, ...(parts && { parts }), ...(recording !== undefined && { recording }) });
    signal?.addEventListener('abort', () => {
      if (!waiting.delete(id)) return;
      line(lane).drop(id);
      reject(new Dropped());
    });
  });
}

export async function ask<T>(lane: Lane, question: object, signal?: AbortSignal, parts?: Part[], recording?: string): Promise<Answer<T>> {
  return JSON.parse(await askText(lane, question, signal, parts, recording)) as Answer<T>;
}
