// The request in the address: "#v1." + base64url of the deflated JSON.
import { deflate, fromBase64, inflate, toBase64 } from '../core/bytes';
import type { JsonObject, Request } from '../core/types';
import { contract, trafficOf } from './traffic';

const PREFIX = '#v1.';
// A header of a large GGUF is some 60 KB; what is longer than this was not written by this page.
const LONGEST = 2_000_000;

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
  const bytes = await inflate(fromBase64(base64 + '='.repeat((4 - (base64.length % 4)) % 4)));
  return checked(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)));
}

/** Enough of a check that the page can draw it; what it means, the core judges. */
export function checked(value: unknown): Request {
  const isObject = (x: unknown): x is Record<string, unknown> => typeof x === 'object' && x !== null && !Array.isArray(x);
  if (!isObject(value) || !isObject(value.model)) throw new Error('no request');
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
