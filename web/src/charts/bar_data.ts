// Which bars the answer has, in bytes. A row is a card; equal cards beyond the fourth share the last row.
import { fullest, need } from '../core/pictures';
import type { Component, Plan, Reading, Totals } from '../core/types';

export interface Bar {
  label: string;
  parts: Record<Component, number>;
  total: number;
  low: number;
  high: number;
  limit: number;
  card: number;
  /** End of the pool that the engine reserves beyond the need; absent where it reserves none. */
  pool?: number;
}

const MOST_BARS = 4;

const split = (totals: Totals): Record<Component, number> => ({
  weights: totals.weights_bytes, activations: totals.activations_bytes,
  runtime: totals.runtime_bytes, kv_cache: totals.kv_cache_bytes,
});

export function totalsOf(plan: Plan, reading: Reading): Totals {
  return reading === 'need' ? need(plan) : plan.readings[reading];
}

/** The ledger is of the primary reading; other readings are known for the fullest card only. */
function ownParts(plan: Plan, device: number): Record<Component, number> {
  const parts: Record<Component, number> = { weights: 0, activations: 0, runtime: 0, kv_cache: 0 };
  for (const row of plan.ledger) if (row.device === device) parts[row.component] += row.bytes;
  return parts;
}

export function bars(plan: Plan, reading: Reading): Bar[] {
  const totals = totalsOf(plan, reading);
  const full = fullest(plan);
  const label = (index: number) => (plan.devices.length > 1 ? `GPU ${index}` : '');
  if (!full) {
    const { total_bytes: total } = totals;
    return [{ label: 'Host memory', parts: split(totals), total, low: total, high: total, limit: total, card: total }];
  }
  const each = plan.devices.map((device): Bar => {
    const own = reading === plan.primary_reading && device.index !== full.index;
    const parts = own ? ownParts(plan, device.index) : split(totals);
    const total = Object.values(parts).reduce((sum, bytes) => sum + bytes, 0);
    const limit = reading === 'need' ? device.limit_bytes : device.total_bytes - device.used_bytes;
    return {
      label: label(device.index), parts, total, limit, card: device.total_bytes,
      low: own ? total : (totals.total_low_bytes ?? total),
      high: own ? total : (totals.total_high_bytes ?? total),
      ...(reading === 'need' && plan.primary_reading === 'reserve' && limit > total && { pool: limit }),
    };
  });
  if (each.length <= MOST_BARS) return each;
  // The fullest of those that share a row stands for them.
  const shared = each.slice(MOST_BARS - 1).reduce((a, b) => (b.total > a.total ? b : a));
  return [...each.slice(0, MOST_BARS - 1), { ...shared, label: `GPU ${MOST_BARS - 1} to ${each.length - 1}` }];
}
