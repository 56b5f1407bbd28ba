// The verdict in words: one number, one sentence with what is needed and what the card gives. Numbers are the
// answer's own; only their differences are taken here.
import type { ComponentChildren } from 'preact';
import { fullest, limitOf, need } from '../core/pictures';
import type { Plan, Request } from '../core/types';
import { gpuShort } from '../state/catalog';
import { engineForm } from '../state/engines';
import { contextOf, countOf, usersOf } from '../state/request';
import { GiB, gib1, gib2, gibNear, grouped, modelName, plural } from './format';

const Unit = ({ children }: { children: ComponentChildren }) => <span class="u">{children}</span>;

/** Free below the limit; negative: short. */
export const spare = (plan: Plan) => limitOf(plan) - need(plan).total_bytes;

const cacheShort = (plan: Plan) => plan.binding === 'kv_cache' && plan.primary_reading === 'reserve';

export function Headline({ plan, request }: { plan: Plan; request: Request }) {
  const free = spare(plan);
  const short = plan.shortfall_bytes ?? Math.max(0, -free);
  const totals = need(plan);
  if (plan.outcome === 'refuses_to_start') {
    if (short <= 0) return <>Refuses to start</>;
    return <>{gibNear(short)}<Unit>GiB too little {cacheShort(plan) ? 'for one request' : 'to start'}</Unit></>;
  }
  if (plan.outcome === 'does_not_fit') {
    const users = usersOf(request);
    if (plan.starts && plan.users !== undefined && plan.users < users) {
      return <>{grouped(plan.users)}<Unit>of {plural(users, 'user')} at a time</Unit></>;
    }
    return short > 0 ? <>{gibNear(short)}<Unit>GiB short</Unit></> : <>Does not fit</>;
  }
  if (plan.outcome === 'tight') {
    const bar = Math.max((totals.total_high_bytes ?? totals.total_bytes) - totals.total_bytes, totals.total_bytes - (totals.total_low_bytes ?? totals.total_bytes));
    const size = Math.abs(free) < 0.05 * GiB ? gib2(free) : gib1(free);
    return <>{size}<Unit>GiB {free < 0 ? 'short' : 'free'}, ± {gib1(bar)}</Unit></>;
  }
  return <>{gib1(Math.max(0, free))}<Unit>GiB {plan.primary_reading === 'reserve' ? 'of cache to spare' : 'free'}</Unit></>;
}

export function cardText(plan: Plan, request: Request): string {
  const count = countOf(request);
  if (plan.devices.length === 0) return 'host memory';
  const name = gpuShort(fullest(plan)?.gpu || request.hardware.gpu);
  return count > 1 ? `each of ${count} × ${name}` : `one ${name}`;
}

export function Sentence({ plan, request }: { plan: Plan; request: Request }) {
  const totals = need(plan);
  const users = usersOf(request);
  const context = contextOf(request);
  const card = cardText(plan, request);
  const Card = card.charAt(0).toUpperCase() + card.slice(1);
  const engine = engineForm(request.engine.name).name;
  const digits = plan.outcome === 'tight' ? gib2 : gib1;
  const who = <><b>{modelName(plan.model.id)} {plan.model.weights}</b> with {plural(users, 'user')} × {grouped(context)} tokens</>;
  const range = totals.total_low_bytes !== undefined ? <> ({digits(totals.total_low_bytes)} to {digits(totals.total_high_bytes ?? totals.total_bytes)})</> : null;
  if (plan.outcome === 'refuses_to_start') {
    const sizing = plan.requirements.find((r) => r.what === 'kv_cache' && r.unit === 'bytes' && r.needed > r.available);
    if (sizing) {
      return <>{engine} stops at start-up: one request of {grouped(context)} tokens takes <b>{gib1(sizing.needed)} GiB</b> of cache and <b>{sizing.available > 0 ? gib1(sizing.available) : '0'} GiB</b> is left after weights, profiling and graphs on {card}.</>;
    }
    return <>{plan.answer}.</>;
  }
  if (plan.outcome === 'tight') {
    return <>{who} needs <b>{gib2(totals.total_bytes)} GiB</b>{range} of the <b>{gib2(limitOf(plan))}</b> that {card} gives. The answer lies inside the error bar: it may start today and fail after a driver update.</>;
  }
  if (plan.primary_reading === 'reserve' && plan.kv.pool_tokens > 0) {
    const full = plan.kv.max_concurrency.toFixed(2);
    if (plan.outcome === 'fits') {
      return <>{who} takes <b>{gib1(totals.kv_cache_bytes)} GiB</b> of a <b>{gib1(plan.readings.reserve.kv_cache_bytes)} GiB</b> cache pool on {card}. The pool holds {grouped(plan.kv.pool_tokens)} tokens: {full} requests of full length.</>;
    }
    if (plan.starts && plan.users !== undefined && plan.users < users) {
      return <>It starts, but the pool of {grouped(plan.kv.pool_tokens)} tokens on {card} holds {full} full requests. The other {grouped(users - plan.users)} {users - plan.users === 1 ? 'waits, or gets' : 'wait, or get'} preempted.</>;
    }
  }
  return <>{who} needs <b>{digits(totals.total_bytes)} GiB</b>{range}. {Card} gives <b>{digits(limitOf(plan))}</b>.</>;
}

/** Where the bar's limit is, in words. */
export function limitText(plan: Plan, reading: 'need' | 'reserve' | 'peak'): string {
  const device = fullest(plan);
  if (!device) return 'host memory';
  const free = device.total_bytes - device.used_bytes;
  if (reading === 'need' && device.limit_bytes < free) {
    const share = plan.engine.options['gpu_memory_utilization'];
    return `${gib1(device.limit_bytes)} GiB${typeof share === 'number' ? ` at ${Math.round(share * 100)} %` : ' for the load'}`;
  }
  return `${gib1(free)} GiB usable`;
}
