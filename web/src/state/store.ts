// The page's state: one object, replaced on every change, and who listens.
import { useEffect, useState } from 'preact/hooks';
import type { Component, CoreError, GpuChoice, Inspect, JsonObject, Lever, Note, Outcome, Plan, Reading, Request, Simulated, Smallest, Totals } from '../core/types';
import type { Grid } from '../core/grid';

/** A plan reduced to what a small bar needs. */
export interface Sketch {
  parts: Record<Component, number>;
  total: number;
  limit: number;
  card: number;
  outcome: Outcome;
}

export interface LeverRow {
  lever: Lever;
  /** After the change; absent until planned. */
  after?: Sketch;
}

export interface CardRow {
  choice: GpuChoice;
  sketch?: Sketch;
}

export interface Pin {
  request: Request;
  title: string;
  note: string;
  plan: Plan;
}

export interface CurvePoint {
  tokens: number;
  totals: Totals;
}

/** How far the reading of a file's header is. */
export interface FileProgress {
  name: string;
  read: number;
  size: number;
}

/** The load of the question as simulated. */
export interface Load {
  answered?: Simulated | undefined;
  notes?: Note[];
  error?: CoreError | undefined;
  /** A run goes on; `first`: what is shown is a first look at few requests. */
  busy: boolean;
  first?: boolean;
  stopped?: boolean;
}

/** Why a server died, and what would have started. */
export interface Failure {
  cause: string;
  phase: string;
  text: string;
  log_line?: number;
  printed?: string;
  needed?: number;
  available?: number;
  shortfall?: number;
  shortfall_is_least?: boolean;
  /** false: the plan of this start on the card that was named does not fail, so its changes say nothing. */
  reproduced?: boolean;
  advice?: { knob: string; direction: string; text: string }[];
  changes?: { change: string; option?: string; cost?: string; outcome: Outcome }[];
}

/** Answer of ask "verify", as far as it is drawn. */
export interface Verified {
  answer: string;
  status?: string;
  engine?: string;
  version?: string;
  model?: string;
  agrees?: boolean;
  read: { lines: number; matched: number };
  rows?: { line: string; component: string; unit?: string; predicted: number; low?: number; high?: number; logged: number; difference: number; exact: boolean; within_bar: boolean }[];
  failure?: Failure;
  attribution?: { component: string; difference_bytes: number; beyond_bar: boolean; text: string }[];
  checks?: { id: string; holds: boolean; text: string }[];
  lacking?: string[];
  request?: JsonObject;
}

export interface State {
  /** undefined: nothing asked yet. */
  request: Request | undefined;
  plan: Plan | undefined;
  /** What `plan` answers: `request` may be newer. */
  question: Request | undefined;
  error: CoreError | undefined;
  /** Of the model in `request`. */
  inspect: Inspect | undefined;
  /** Levers of `plan`; undefined while they are searched. */
  levers: LeverRow[] | undefined;
  smallest: Smallest | undefined;
  /** Bytes of the weights by format, for the list. */
  sizes: Record<string, number>;
  curve: CurvePoint[] | undefined;
  map: Grid | undefined;
  cards: CardRow[] | undefined;
  cardsDone: boolean;
  /** What the user's own cards cost, whether the plan fits them or not. */
  price: GpuChoice | undefined;
  pins: Pin[];
  reading: Reading;
  /** A file whose header is being read. */
  file: FileProgress | undefined;
  toast: { text: string; undo?: Request } | undefined;
  help: boolean;
  /** The list of terms is open at this one; '': at its start. */
  term: string | undefined;
  keys: boolean;
  theme: 'system' | 'light' | 'dark';
  ready: boolean;
  /** Questions asked, and the number of the newest that `plan` or `error` answers. */
  asked: number;
  answers: number;
  /** Which question the changes, pictures and cards are of; older ones stay in view until the new are there. */
  of: { levers: number; pictures: number; cards: number };
  /** A pasted log beside the plan. */
  verified: Verified | undefined;
  load: Load | undefined;
  /** A dropped recording of requests: as long as the page is open, never in a link. */
  recording: { name: string; text: string } | undefined;
  /** Whether the fields of real traffic are open. */
  trafficOpen: boolean;
}

let state: State = {
  request: undefined, plan: undefined, question: undefined, error: undefined, inspect: undefined, levers: undefined, smallest: undefined, sizes: {},
  curve: undefined, map: undefined, cards: undefined, cardsDone: false, price: undefined, pins: [], reading: 'need', file: undefined,
  toast: undefined, help: false, term: undefined, keys: true, theme: 'system', ready: false, asked: 0, answers: 0, of: { levers: 0, pictures: 0, cards: 0 },
  verified: undefined, load: undefined, recording: undefined,
  trafficOpen: false,
};

const listeners = new Set<() => void>();

export const get = (): State => state;

export function set(patch: Partial<State>): void {
  state = { ...state, ...patch };
  for (const listener of [...listeners]) listener();
}

/** Renders again only when what it selects is another object. */
export function use<T>(select: (state: State) => T): T {
  const [value, put] = useState(() => select(state));
  useEffect(() => {
    const update = () => put(() => select(state));
    listeners.add(update);
    update();
    return () => void listeners.delete(update);
  }, []);
  return value;
}
