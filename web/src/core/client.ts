// Asks the core. Three lanes, so that a slow question never stands before a quick one:
//   verdict   what is shown at once (a plan without the search for changes)
//   pictures  curve, map, bars of other cards
//   search    changes, cards, prices
//   load      a simulated load: seconds of work, so giving up ends the worker itself
// Each lane is a worker; where a worker cannot start, the main thread answers.
import type { Answer } from './types';
import { complete, instantiate, type Core, type Part } from './module';
import type { FromWorker, Question, ToWorker } from './worker';

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

let module: Promise<WebAssembly.Module>;
let workerText = '';
let number = 0;
const waiting = new Map<number, Waiting>();
const lines = new Map<Lane, Line>();

/** How long the core itself took for the last answer of a lane, in milliseconds. */
export const lastTook: Partial<Record<Lane, number>> = {};

export function start(wasm: Promise<Uint8Array<ArrayBuffer>>, worker: string): void {
  module = wasm.then((bytes) => WebAssembly.compile(bytes));
  workerText = worker;
}

function settle(lane: Lane, { id, answer, failure, ms }: FromWorker): void {
  lastTook[lane] = ms;
  const asked = waiting.get(id);
  waiting.delete(id);
  if (answer !== undefined) asked?.resolve(answer);
  else asked?.reject(new Error(failure));
}

function workerLine(lane: Lane, url: string): Line {
  const worker = new Worker(url, { name: lane });
  const send = (message: ToWorker) => worker.postMessage(message);
  worker.onmessage = ({ data }: MessageEvent<FromWorker>) => settle(lane, data);
  worker.onerror = (event) => {
    event.preventDefault();
    // It could not start or died: the main thread takes over, with what is still unanswered.
    worker.terminate();
    const line = mainLine(lane);
    lines.set(lane, line);
    for (const question of sent.values()) line.post(question);
  };
  const sent = new Map<number, Question>();
  void module.then((compiled) => send({ module: compiled }));
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
  return {
    async post({ id, request, parts, recording }) {
      const core = await mainCore!;
      await new Promise((resume) => setTimeout(resume));
      if (!waiting.has(id)) return;
      const started = performance.now();
      try {
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
      found = mainLine(lane);
    }
    lines.set(lane, found);
  }
  return found;
}

/** The answer as text, exactly as the core gave it. Rejects with Dropped once `signal` fires. */
export function askText(lane: Lane, request: object, signal?: AbortSignal, parts?: Part[], recording?: string): Promise<string> {
  const id = ++number;
  return new Promise<string>((resolve, reject) => {
    if (signal?.aborted) return reject(new Dropped());
    waiting.set(id, { resolve, reject });
    line(lane).post({ id, request: JSON.stringify(request), ...(parts && { parts }), ...(recording !== undefined && { recording }) });
    signal?.addEventListener('abort', () => {
      if (!waiting.delete(id)) return;
      line(lane).drop(id);
      reject(new Dropped());
    });
  });
}

export async function ask<T>(lane: Lane, request: object, signal?: AbortSignal, parts?: Part[], recording?: string): Promise<Answer<T>> {
  return JSON.parse(await askText(lane, request, signal, parts, recording)) as Answer<T>;
}
