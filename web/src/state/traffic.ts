// Real traffic: lengths, arrivals and a promise beside the plan's question. The page keeps them apart
// (`request.traffic`), because a plan is of the worst case; links and files carry them where the contract has them.
import type { JsonObject, Request, Traffic } from '../core/types';

export type Mode = 'best' | 'rate' | 'users' | 'trace';

const given = (traffic: Traffic) => Object.values(traffic).some((value) => value !== undefined);

/** Without what only a simulation reads. */
export function planned(request: Request): Request {
  const { traffic: _, ...plan } = request;
  return plan;
}

/** As the contract has it: goes into `vramwise simulate --request -`, and `plan` takes it too. */
export function contract(request: Request, recording?: string): JsonObject {
  const { traffic, ...plan } = request;
  if (!traffic) return plan as unknown as JsonObject;
  const { lengths, trace, arrivals, ...rest } = traffic;
  const text = trace && recording !== undefined ? { ...trace, text: recording } : trace;
  return {
    ...plan,
    workload: { ...plan.workload, ...(lengths && { lengths }), ...(text && { trace: text }), ...(arrivals && { arrivals }) },
    ...rest,
  } as unknown as JsonObject;
}

const isObject = (x: unknown): x is JsonObject => typeof x === 'object' && x !== null && !Array.isArray(x);

/** The traffic of a request in the contract's form; what it means, the core judges. */
export function trafficOf(value: JsonObject): Traffic | undefined {
  const load = isObject(value.workload) ? value.workload : {};
  const trace = isObject(load.trace) ? load.trace : undefined;
  const { slo, price_per_hour, replicas, router, acceptance } = value;
  const traffic: Traffic = {
    ...(isObject(load.lengths) && { lengths: load.lengths }),
    ...(trace && {
      trace: { name: typeof trace.name === 'string' ? trace.name : 'recording', ...(isObject(trace.columns) && { columns: trace.columns as never }) },
    }),
    ...(isObject(load.arrivals) && { arrivals: load.arrivals }),
    ...(isObject(slo) && { slo: slo as Traffic['slo'] & object }),
    ...(typeof price_per_hour === 'number' && { price_per_hour }),
    ...(typeof replicas === 'number' && { replicas }),
    ...(typeof router === 'string' && { router }),
    ...(typeof acceptance === 'number' && { acceptance }),
  };
  return given(traffic) ? traffic : undefined;
}

/** Changes some of it; undefined removes. */
export function withTraffic(request: Request, patch: { [K in keyof Traffic]?: Traffic[K] | undefined }): Request {
  const merged = { ...request.traffic, ...patch } as Traffic;
  for (const key of Object.keys(merged) as (keyof Traffic)[]) if (merged[key] === undefined) delete merged[key];
  const { traffic: _, ...rest } = request;
  return given(merged) ? { ...rest, traffic: merged } : rest;
}

/** Whether there is something to simulate; a recording that a link only names has to be dropped again. */
export const asksForTraffic = (request: Request) => request.traffic?.lengths !== undefined || request.traffic?.trace !== undefined;

/** Whether the engine's options draft tokens: only then is there a share to accept. */
export const drafts = ({ engine }: Request) => Object.keys(engine.options ?? {}).some((name) => /^spec|draft/.test(name));

export function modeOf(traffic: Traffic | undefined): Mode {
  const kind = traffic?.arrivals?.kind;
  return kind === 'closed' ? 'users' : kind === 'trace' ? 'trace' : kind === undefined ? 'best' : 'rate';
}

export const DEFAULT_SLO = { ttft_seconds: 1, tpot_seconds: 0.05, quantile: 0.95 };

/** What a mode starts with; what was typed for another one does not carry over. */
export function withMode(request: Request, mode: Mode, people: number): Request {
  const arrivals: Record<Mode, JsonObject | undefined> = {
    best: undefined,
    rate: { kind: 'poisson', rate_per_second: 1 },
    users: { kind: 'closed', users: people, think_seconds: 20 },
    trace: { kind: 'trace', speedup: 1 },
  };
  const slo = mode === 'best' ? (request.traffic?.slo ?? DEFAULT_SLO) : request.traffic?.slo;
  return withTraffic(request, { arrivals: arrivals[mode], slo });
}

/** Lengths of a name in the catalog; '' takes every user at full length again. */
export function withPreset(request: Request, name: string): Request {
  if (!name) {
    const { traffic: _, ...rest } = request;
    return rest;
  }
  const { arrivals } = request.traffic ?? {};
  return withTraffic(request, {
    lengths: { kind: 'preset', name }, trace: undefined, ...(arrivals?.kind === 'trace' && { arrivals: undefined }),
    slo: request.traffic ? request.traffic.slo : DEFAULT_SLO,
  });
}

export const OWN_LENGTHS: JsonObject = { kind: 'lognormal', prompt: { p50: 1000, p95: 4000 }, output: { p50: 200, p95: 800 } };
