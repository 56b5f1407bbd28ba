// The JSON contract, as far as the page reads it (docs/json-contract.md). Sizes are integer bytes.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export type Outcome = 'fits' | 'tight' | 'does_not_fit' | 'refuses_to_start';
export type Component = 'weights' | 'activations' | 'runtime' | 'kv_cache';
export type Reading = 'need' | 'reserve' | 'peak';

export interface Model {
  ref?: string;
  config?: JsonObject;
  quantization_config?: JsonObject;
  overrides?: JsonObject;
  header?: JsonObject;
  assume_family?: string;
}

export interface Hardware {
  gpu?: string;
  count?: number;
  total_bytes?: number;
  used_bytes?: number;
  backend?: string;
  ram_bytes?: number;
  devices?: { gpu?: string; total_bytes?: number; used_bytes?: number }[];
}

export interface Engine {
  name: string;
  version?: string;
  options?: JsonObject;
  env?: { [key: string]: string };
}

export interface Workload {
  sequence_tokens?: number;
  concurrency?: number;
}

/** What people send, when, and what they are promised: what ask "simulate" takes beside the plan's question. */
export interface Traffic {
  /** workload.lengths; absent: every user holds a full context. */
  lengths?: JsonObject;
  /** workload.trace without its text, which is no part of a link. */
  trace?: { name: string; columns?: { prompt: string; output: string; arrival?: string } };
  arrivals?: JsonObject;
  slo?: { ttft_seconds?: number; tpot_seconds?: number; quantile?: number };
  price_per_hour?: number;
  /** Servers behind a router, each with a pool and a queue of its own. */
  replicas?: number;
  router?: string;
  /** Share of drafted tokens that the model keeps. */
  acceptance?: number;
}

/** A question as the page keeps it: always complete enough to be planned. */
export interface Request {
  schema_version: 1;
  model: Model;
  weights?: string;
  engine: Engine;
  hardware: Hardware;
  workload: Workload;
  /** Kept apart from what is planned; state/traffic.ts puts it into the contract's places. */
  traffic?: Traffic;
}

export interface Totals {
  weights_bytes: number;
  kv_cache_bytes: number;
  activations_bytes: number;
  runtime_bytes: number;
  total_bytes: number;
  total_low_bytes?: number;
  total_high_bytes?: number;
}

export interface LedgerRow {
  device: number | 'host';
  component: Component;
  item: string;
  bytes: number;
  low_bytes?: number;
  high_bytes?: number;
  basis: 'exact' | 'derived' | 'modelled' | 'measured';
  formula?: string;
  source?: string;
}

export interface Device {
  index: number;
  gpu: string;
  total_bytes: number;
  used_bytes: number;
  reserved_bytes: number;
  free_bytes: number;
  limit_bytes: number;
}

export interface Requirement {
  what: string;
  phase: string;
  unit: string;
  device: number | 'host';
  needed: number;
  available: number;
}

export interface Lever {
  ids: string[];
  change: string;
  option?: string;
  freed_bytes: number;
  outcome: Outcome;
  starts: boolean;
  users?: number;
  /** Whether it then holds all that was asked for. */
  reaches: boolean;
  cost?: string;
  /** Which figure of the server's own log shows that it worked. */
  check?: { text: string };
  set: JsonObject;
}

/** The smallest usual cards that hold the question, where no change does on its own. */
export interface Smallest {
  gpu: string;
  count: number;
  layout?: string;
  options?: JsonObject;
}

export interface Note {
  id: string;
  text: string;
}

export interface LogLine {
  line: string;
  value: number;
  unit: string;
}

export interface ModelBlock {
  id: string;
  architecture: string;
  parameters: number;
  active_parameters: number;
  weights: string;
  kv_bytes_per_token: number;
  tensor_bytes: number;
  bits_per_weight: number;
}

export interface Plan {
  model: ModelBlock;
  engine: { name: string; version?: string; options: JsonObject };
  workload?: Workload;
  outcome: Outcome;
  starts: boolean;
  answer: string;
  binding?: string;
  shortfall_bytes?: number;
  engine_error?: string;
  users?: number;
  longest_sequence_tokens?: number;
  devices: Device[];
  readings: Record<Reading, Totals>;
  primary_reading: Reading;
  ledger: LedgerRow[];
  totals: Totals;
  kv: {
    bytes_per_token: number;
    available_bytes: number;
    available_low_bytes: number;
    available_high_bytes: number;
    pool_tokens: number;
    blocks: number;
    max_concurrency: number;
  };
  requirements: Requirement[];
  log: LogLine[];
  levers: Lever[];
  smallest?: Smallest;
  assumptions: Note[];
  warnings: Note[];
  command?: string;
}

export interface CoreError {
  code: string;
  message: string;
  where?: string;
  hints?: string[];
}

export interface Inspect {
  model: ModelBlock;
  inspect: {
    cache_runs: { first_layer: number; layers: number; cache: string; [key: string]: Json }[];
    layers: number;
    hidden_size: number;
    vocab_size: number;
    max_positions: number;
    tensors_by_format: { format: string; tensors: number; bytes: number }[];
    file?: JsonObject;
  };
}

export interface GpuChoice {
  gpu: string;
  count: number;
  layout?: string;
  options?: JsonObject;
  outcome: Outcome;
  users?: number;
  taken_bytes: number;
  free_bytes: number;
  usd_per_hour?: number;
  offer?: string;
  price_date?: string;
  pareto: boolean;
}

export interface Launch {
  engine?: string;
  model?: string;
  options?: JsonObject;
  env?: { [key: string]: string };
  gpus?: Json;
  ignored?: Json[];
  unknown?: Json[];
  removed?: Json[];
  errors?: Json[];
  warnings?: Json[];
}

interface Spread {
  mean: number;
  p50: number;
  p95: number;
  p99: number;
}

/** Answer of ask "simulate". Shares are of the cache pool, or of the requests. */
export interface Simulated {
  answer: string;
  limited_by: string;
  caveat?: string;
  lengths: { name: string; source?: string; note?: string; prompt: Spread; output: Spread; total: Spread & { most: number }; max_sequence_tokens_p99?: number };
  load: { kind: string; users?: number; rate_per_second?: number; load?: number; saturation_rate_per_second: number };
  users: { p50: number; p95: number; p99: number; worst_case?: number; worst_case_tokens?: number; worst_case_at_p99_length?: number; limited_by?: string };
  goodput?: { rate_per_second: number; low: number; high: number };
  occupancy: { mean: number; p50: number; p95: number; p99: number; p99_half_width?: number; peak: number };
  timeline: { seconds_per_point: number; mean: number[]; low: number[]; high: number[]; waiting: number[] };
  mean_running: number;
  waiting: { share: number; causes: Record<'memory' | 'sequences' | 'budget', number>; queue_seconds: Spread };
  preemptions_per_1000: number;
  ttft_seconds: Spread & { p99_half_width?: number };
  inter_token_seconds: Spread;
  tpot_seconds: Spread;
  throughput: { requests_per_second: number; output_tokens_per_second: number; half_width?: number };
  servers?: { count: number; router?: string; split?: string };
  meets?: boolean;
  slo?: { ttft_seconds?: number; tpot_seconds?: number; quantile: number; share: number; ttft_share?: number; tpot_share?: number };
  cost?: { usd_per_hour: number; offer?: string; price_date?: string; usd_per_million_output_tokens: number; low: number; high: number; usd_per_million_tokens: number };
  run: { requests: number; steps: number; replications: number; seed: number; half_width_share?: number };
}

export type Answer<T> = ({ error?: undefined } & T) | { error: CoreError };
