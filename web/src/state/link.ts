// The request in the address: "#v1." + base64url of the deflated JSON.
import { deflate, fromBase64, inflate, toBase64 } from '../core/bytes';
import type { JsonObject, Request } from '../core/types';
import { contract, trafficOf } from './traffic';

const PREFIX = '#v1.';
// A header of a large GGUF is some 60 KB; what is longer than this was not written by this page.
const LONGEST = 2_000_000;
// A config of a megabyte is the longest that the page takes, a header has less.
const LONGEST_INFLATED = 4 << 20;

export async function toHash(request: Request): Promise<string> {
  const { schema_version: _, ...rest } = contract(request);
  const bytes = new TextEncoder().encode(JSON.stringify(rest));
  const packed = await deflate(bytes as Uint8Array<ArrayBuffer>);
  return PREFIX + toBase64(packed).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** undefined: no request in it. Throws when there is one and it is damaged. */
export async function fromHash(hash: string): Promise<Request | undefined> {
  if (!hash.startsWith(PREFIX)) return undefined;
  if (hash.length > LONGEST) throw new Error('too long');
  const base64 = hash.slice(PREFIX.length).replaceAll('-', '+').replaceAll('_', '/');
  const bytes = await inflate(fromBase64(base64 + '='.repeat((4 - (base64.length % 4)) % 4)), LONGEST_INFLATED);
  return checked(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)));
}

type Fields = Record<string, unknown>;
const isObject = (x: unknown): x is Fields => typeof x === 'object' && x !== null && !Array.isArray(x);
const isText = (x: unknown) => typeof x === 'string';
const isNumber = (x: unknown) => typeof x === 'number' && Number.isFinite(x);
const isObjects = (x: unknown) => Array.isArray(x) && x.every(isObject);
const isTexts = (x: unknown) => isObject(x) && Object.values(x).every(isText);

// What the page itself looks into; every other member goes to the core as it is.
const TYPES: Record<'model' | 'engine' | 'hardware', Record<string, [(x: unknown) => boolean, string]>> = {
  model: { ref: [isText, 'a text'], config: [isObject, 'an object'], header: [isObject, 'an object'] },
  engine: { name: [isText, 'a text'], version: [isText, 'a text'], options: [isObject, 'an object'], env: [isTexts, 'an object of texts'] },
  hardware: { gpu: [isText, 'a text'], count: [isNumber, 'a number'], total_bytes: [isNumber, 'a number'], used_bytes: [isNumber, 'a number'], devices: [isObjects, 'a list of objects'] },
};

/** Enough of a check that the page can draw it; what it means, the core judges. Throws, naming the first fault. */
export function checked(value: unknown): Request {
  if (!isObject(value)) throw new Error('it is no object');
  if (!isObject(value.model)) throw new Error('it names no model');
  for (const [part, members] of Object.entries(TYPES)) {
    const given = value[part];
    if (given === undefined || given === null) continue;
    if (!isObject(given)) throw new Error(`${part} is not an object`);
    for (const [name, [holds, what]] of Object.entries(members)) {
      if (given[name] !== undefined && given[name] !== null && !holds(given[name])) throw new Error(`${part}.${name} is not ${what}`);
    }
  }
  const { model, weights, engine, hardware, workload } = value;
  const name = isObject(engine) && typeof engine.name === 'string' ? engine.name : 'vllm';
  const count = (x: unknown) => (typeof x === 'number' && Number.isSafeInteger(x) && x > 0 ? x : undefined);
  const load = isObject(workload) ? workload : {};
  const tokens = count(load.sequence_tokens) ?? 4096;
  const traffic = trafficOf(value as JsonObject);
  return {
    schema_version: 1,
    model: model as Request['model'],
    ...(typeof weights === 'string' && { weights }),
    engine: { ...(isObject(engine) ? engine : {}), name } as Request['engine'],
    hardware: isObject(hardware) ? (hardware as Request['hardware']) : { gpu: 'h100-sxm', count: 1 },
    workload: { sequence_tokens: tokens, concurrency: count(load.concurrency) ?? 1 },
    ...(traffic && { traffic }),
  };
}
