// What can be chosen: the index built from catalog/ (scripts/index_data.mjs), in named fields.
import { knowAnswer } from '../core/client';

export interface ModelEntry {
  id: string;
  family: string;
  parameters: number;
  /** 0: dense, all of them. */
  active: number;
  cacheBytesPerToken: number;
  format: string;
}

export interface GpuEntry {
  id: string;
  name: string;
  group: string;
  gb: number;
}

export interface OptionEntry {
  name: string;
  flag: string;
  type: string;
  choices: string[] | undefined;
  /** weights, kv, activations, runtime, limits, parallelism */
  part: string;
  initial: string;
  effect: string;
  until: string | undefined;
}

type RawIndex = {
  /** Questions and the core's answers, both as text. */
  answers: [string, string][];
  models: [string, string, number, number, number, string][];
  gpus: [string, string, string, number][];
  workloads: [string, string][];
  engines: Record<string, { options: [string, string, string, string[] | 0, string, string, string, string | 0][] }>;
};

export let models: ModelEntry[] = [];
export let gpus: GpuEntry[] = [];
/** Distributions of lengths: id and name. */
export let workloads: [string, string][] = [];
const options = new Map<string, OptionEntry[]>();
let raw: RawIndex['engines'] = {};

export function loadIndex(text: string): void {
  const index = JSON.parse(text) as RawIndex;
  models = index.models.map(([id, family, parameters, active, cacheBytesPerToken, format]) =>
    ({ id, family, parameters, active, cacheBytesPerToken, format }));
  gpus = index.gpus.map(([id, name, group, gb]) => ({ id, name, group, gb }));
  workloads = index.workloads;
  for (const [question, answer] of index.answers) knowAnswer(question, answer);
  raw = index.engines;
  options.clear();
}

/** The memory-relevant options of an engine; read when first asked for. */
export function engineOptions(engine: string): OptionEntry[] {
  let list = options.get(engine);
  if (!list) {
    list = (raw[engine]?.options ?? []).map(([name, flag, type, choices, part, initial, effect, until]) =>
      ({ name, flag, type, choices: choices || undefined, part, initial, effect, until: until || undefined }));
    options.set(engine, list);
  }
  return list;
}

export const gpuName = (id: string | undefined) => gpus.find((gpu) => gpu.id === id)?.name ?? id ?? 'a card of its own';
/** "H100 SXM" out of "H100 SXM 80 GB". */
export const gpuShort = (id: string | undefined) => gpuName(id).replace(/ \d+ GB$/, '').replace(/ \(per GPU.*\)$/, '');

/** Words in any order, anywhere in the id; best: those that start with what was typed. */
export function searchModels(typed: string): ModelEntry[] {
  const words = typed.toLowerCase().replace(/[^a-z0-9.]+/g, ' ').trim().split(' ').filter(Boolean);
  if (words.length === 0) return models;
  return models.filter((model) => {
    const text = model.id.toLowerCase().replace(/[^a-z0-9.]+/g, ' ');
    return words.every((word) => text.includes(word));
  });
}

/** The model whose name shares most pairs of letters with what was typed. */
export function nearestModel(typed: string): ModelEntry | undefined {
  const pairs = (text: string) => {
    const clean = text.toLowerCase().replace(/[^a-z0-9]/g, '');
    return new Set(Array.from({ length: Math.max(0, clean.length - 1) }, (_, i) => clean.slice(i, i + 2)));
  };
  const wanted = pairs(typed);
  let best: ModelEntry | undefined;
  let most = 0;
  for (const model of models) {
    const have = pairs(model.id.slice(model.id.lastIndexOf('/') + 1));
    let shared = 0;
    for (const pair of wanted) if (have.has(pair)) ++shared;
    const score = (2 * shared) / (wanted.size + have.size || 1);
    if (score > most) [most, best] = [score, model];
  }
  return most > 0.3 ? best : undefined;
}
