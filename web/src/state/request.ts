// Changes to the question. Pure: a request in, a new request out.
import type { Json, JsonObject, Model, Request } from '../core/types';
import { engineForm, takesGguf } from './engines';

/** A merge patch (RFC 7396): objects are merged, null removes, everything else replaces. */
export function merge<T>(target: T, patch: Json): T {
  if (patch === null || typeof patch !== 'object' || Array.isArray(patch)) return patch as T;
  const base = target !== null && typeof target === 'object' && !Array.isArray(target) ? { ...(target as JsonObject) } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete base[key];
    else base[key] = merge(base[key] ?? null, value);
  }
  return base as T;
}

export const withModel = (request: Request, model: Model): Request => {
  // What was chosen for another model's files does not hold for this one's.
  const { weights: _, ...rest } = request;
  const gguf = model.header?.['format'] === 'gguf';
  const engine = gguf && !takesGguf(request.engine.name) ? { name: 'llama.cpp' } : request.engine;
  const format = model.header ? '' : engineForm(engine.name).format;
  return { ...rest, engine, model, ...(format && { weights: format }) };
};

/** Cache type, format, version and options are the engine's own: they start at its defaults. */
export function withEngine(request: Request, name: string): Request {
  if (name === request.engine.name) return request;
  const { weights, ...rest } = request;
  const same = takesGguf(name) === takesGguf(request.engine.name);
  const format = request.model.header ? '' : same ? weights : engineForm(name).format;
  return { ...rest, engine: { name }, ...(format && { weights: format }) };
}

export function withWeights(request: Request, format: string): Request {
  const { weights: _, ...rest } = request;
  return format ? { ...rest, weights: format } : rest;
}

export function withOption(request: Request, name: string, value: Json): Request {
  if (name.startsWith('env:')) {
    const env = merge(request.engine.env ?? {}, { [name.slice(4)]: value === null ? null : String(value) });
    return { ...request, engine: { ...request.engine, env } };
  }
  const options = merge(request.engine.options ?? {}, { [name]: value });
  const { options: _, ...engine } = request.engine;
  return { ...request, engine: Object.keys(options).length ? { ...engine, options } : engine };
}

export function withVersion(request: Request, version: string): Request {
  const { version: _, ...engine } = request.engine;
  return { ...request, engine: version ? { ...engine, version } : engine };
}

export const withContext = (request: Request, sequence_tokens: number): Request =>
  ({ ...request, workload: { ...request.workload, sequence_tokens } });

export const withUsers = (request: Request, concurrency: number): Request =>
  ({ ...request, workload: { ...request.workload, concurrency } });

export const withHardware = (request: Request, patch: JsonObject): Request =>
  ({ ...request, hardware: merge(request.hardware, patch) });

export const contextOf = (request: Request) => request.workload.sequence_tokens ?? 4096;
export const usersOf = (request: Request) => request.workload.concurrency ?? 1;
export const countOf = (request: Request) => request.hardware.devices?.length ?? request.hardware.count ?? 1;

/** The value that an option has in the request, flat ("a.b") or nested; undefined: not given. */
export function optionOf(request: Request, name: string): Json | undefined {
  if (name.startsWith('env:')) return request.engine.env?.[name.slice(4)];
  const options = request.engine.options ?? {};
  if (name in options) return options[name];
  let at: Json | undefined = options;
  for (const key of name.split('.')) {
    if (at === null || typeof at !== 'object' || Array.isArray(at)) return undefined;
    at = at[key];
  }
  return at;
}

/** What a person types beside an option → the value in the request. Empty: the default again. */
export function optionValue(text: string, type: string): Json {
  const clean = text.trim();
  if (clean === '') return null;
  if (/^(true|on|yes)$/i.test(clean) && /bool|flag|^$/.test(type)) return true;
  if (/^(false|off|no)$/i.test(clean) && /bool|flag/.test(type)) return false;
  if (/^-?\d+(\.\d+)?(e-?\d+)?$/i.test(clean)) return Number(clean);
  if (/^[[{]/.test(clean)) {
    try {
      return JSON.parse(clean) as Json;
    } catch {
      return clean;
    }
  }
  return clean;
}
