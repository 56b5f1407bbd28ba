// @vramwise/core: the planner of Vramwise in Node and in browsers. One request in, one answer out, in
// the JSON contract of the project (docs/json-contract.md); an error is an answer too.
import { instantiate, type Core, type Part } from './module.js';
import type {
  Answer, CoreError, Engine, GpuChoice, Hardware, Inspect, JsonObject, Model, Outcome, Plan, Workload,
} from './types.js';

export type * from './types.js';
export type { Part };

/** A file of a model that the caller holds: a File, a Blob, or anything else that can be read in parts. */
export interface Source {
  readonly size: number;
  slice(start: number, end: number): { arrayBuffer(): Promise<ArrayBuffer> };
}

/** Sources by name, as they lie in a folder: {"config.json": …, "model.safetensors": …}. */
export type Sources = Record<string, Source>;

/** A plan question; `ask` absent means `plan`. Further members are those of the contract. */
export interface Question {
  ask?: string;
  id?: unknown;
  schema_version?: 1;
  model?: Model;
  weights?: string;
  engine?: Engine;
  hardware?: Hardware;
  workload?: Workload;
  [member: string]: unknown;
}

/** [low, likely, high] bytes. */
export type Range = [low: number, likely: number, high: number];

export interface GridCell {
  outcome: Outcome;
  starts: boolean;
  binding?: string;
  shortfall_bytes?: number;
  device: number | 'host';
  need: {
    weights_bytes: Range;
    kv_cache_bytes: Range;
    activations_bytes: Range;
    runtime_bytes: Range;
    total_bytes: Range;
  };
  gpu?: string;
}

export interface Grid {
  sequence_tokens: number[];
  concurrency: number[];
  gpus: { gpu: string; name: string; total_bytes: number }[];
  cells: GridCell[][];
}

export interface GridAxes {
  sequence_tokens: number[];
  concurrency: number[];
  gpus?: string[];
}

/** An answer that is an error, thrown by the functions that promise a plan, a grid, … */
export class VramwiseError extends Error {
  readonly code: string;
  readonly where: string | undefined;
  readonly hints: readonly string[];
  constructor(error: CoreError) {
    super(error.message);
    this.name = 'VramwiseError';
    this.code = error.code;
    this.where = error.where;
    this.hints = error.hints ?? [];
  }
}

/** The files of a question are asked for in parts; more rounds than this is a fault of the module. */
const MOST_ROUNDS = 64;

export class Vramwise {
  readonly #core: Core;
  constructor(core: Core) {
    this.#core = core;
  }

  /** The answer to one request, both as JSON text. Never throws for what is wrong with a request. */
  handle(request: string, parts?: readonly Part[]): string {
    return this.#core.handle(request, parts);
  }

  /** Any question of the contract; the answer may be an error. */
  ask(question: Question): JsonObject {
    return JSON.parse(this.handle(JSON.stringify(question))) as JsonObject;
  }

  /** Will it fit? With `levers: false` the changes that would help are left out, which is much faster. */
  plan(question: Question & { levers?: boolean }): Plan {
    return this.#must<Plan>({ ...question, ask: 'plan' });
  }

  /** What a model is: exact parameters, tensors, the cache of each layer. */
  inspect(question: Question): Inspect {
    return this.#must<Inspect>({ ...question, ask: 'inspect' });
  }

  /** A plan for every pair of sequence length and number of users. */
  grid(question: Question, axes: GridAxes): Grid {
    return this.#must<{ grid: Grid }>({ ...question, ask: 'grid', grid: axes }).grid;
  }

  /** Which GPUs hold it, cheapest first. */
  gpus(question: Question): { answer: string; choices: GpuChoice[] } {
    return this.#must<{ gpus: { answer: string; choices: GpuChoice[] } }>({ ...question, ask: 'gpus' }).gpus;
  }

  /** The same as `ask` for a model given by its own files; only their headers are read. */
  async askFiles(question: Question, files: Sources): Promise<JsonObject> {
    const names = Object.keys(files);
    const model = {
      ...question.model,
      files: names.map((name, blob) => ({ name, blob, size_bytes: files[name]!.size })),
    };
    const request = JSON.stringify({ ...question, model });
    const parts: Part[] = [];
    for (let round = 0; round < MOST_ROUNDS; ++round) {
      const answer = JSON.parse(this.handle(request, parts)) as JsonObject;
      const need = answer['need'] as { blob: number; offset: number; bytes: number } | undefined;
      if (need === undefined) return answer;
      const source = files[names[need.blob]!]!;
      const piece = await source.slice(need.offset, need.offset + need.bytes).arrayBuffer();
      parts.push({ blob: need.blob, offset: need.offset, bytes: new Uint8Array(piece) });
    }
    throw new Error('the module asked for more parts of the files than any header has');
  }

  #must<T>(question: Question): T {
    const answer = this.ask(question) as unknown as Answer<T>;
    if (answer.error) throw new VramwiseError(answer.error);
    return answer as T;
  }
}

/**
 * Loads the module. Without an argument it is the file beside this one: read in Node, fetched in a
 * browser. Otherwise its bytes, a compiled module, or a Response with it.
 */
export async function load(wasm?: BufferSource | WebAssembly.Module | Response | Promise<Response>): Promise<Vramwise> {
  return new Vramwise(await instantiate(await compiled(await wasm)));
}

async function compiled(wasm: BufferSource | WebAssembly.Module | Response | undefined): Promise<WebAssembly.Module> {
  if (wasm instanceof WebAssembly.Module) return wasm;
  if (typeof Response !== 'undefined' && wasm instanceof Response) {
    if (!wasm.ok) throw new Error(`vramwise.wasm: ${wasm.status} ${wasm.statusText}`);
    return WebAssembly.compile(await wasm.arrayBuffer());
  }
  if (wasm !== undefined) return WebAssembly.compile(wasm as BufferSource);
  const beside = new URL('../vramwise.wasm', import.meta.url);
  if (beside.protocol !== 'file:') return compiled(await fetch(beside));
  // Not a plain import: bundlers for browsers would look for it.
  const name = 'node:fs/promises';
  const { readFile } = (await import(/* @vite-ignore */ name)) as { readFile(path: URL): Promise<Uint8Array<ArrayBuffer>> };
  return WebAssembly.compile(await readFile(beside));
}
