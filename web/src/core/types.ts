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

/** A question as the page keeps it: always complete enough to be planned. */
export interface Request {
  schema_version: 1;
  model: Model;
  weights?: string;
  engine: Engine;
  hardware: Hardware;
  workload: Workload;
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
  cost?: string;
  set: JsonObject;
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

export type Answer<T> = ({ error?: undefined } & T) | { error: CoreError };
