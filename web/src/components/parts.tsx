// The four parts and their sum, then the limits: how long, how many, what one more token costs.
import { totalsOf } from '../charts/bar_data';
import { fullest } from '../core/pictures';
import type { Component, LedgerRow, Plan, Reading, Request } from '../core/types';
import { gpuName } from '../state/catalog';
import { contextOf, usersOf } from '../state/request';
import { use } from '../state/store';
import { GiB, MiB, gib1, gibNear, grouped, percent, plural, tokens } from '../text/format';
import { PARTS, Swatch } from './icons';
import { Term } from './term';

/** Low and high of a part on the fullest card; the ledger is of the primary reading. */
function range(plan: Plan, part: Component, reading: Reading): [number, number] | undefined {
  if (reading !== plan.primary_reading && part === 'kv_cache') return undefined;
  const device = fullest(plan)?.index ?? 'host';
  const rows = plan.ledger.filter((row: LedgerRow) => row.component === part && row.device === device);
  const sum = (pick: (row: LedgerRow) => number) => rows.reduce((all, row) => all + pick(row), 0);
  return [sum((row) => row.low_bytes ?? row.bytes), sum((row) => row.high_bytes ?? row.bytes)];
}

export function Parts({ plan, reading }: { plan: Plan; reading: Reading }) {
  const totals = totalsOf(plan, reading);
  return (
    <div class="parts">
      {PARTS.map(({ key, name }) => {
        const bytes = totals[`${key}_bytes`];
        const bar = range(plan, key, reading);
        const wide = bar && bar[1] - bar[0] > 0.04 * GiB && bar[0] <= bytes && bytes <= bar[1];
        return (
          <div class="part" key={key}>
            <div class="k"><Swatch part={key} /><Term word={name} /></div>
            <div class="n">{gib1(bytes)}<span class="u">GiB</span></div>
            <div class="s">{percent(bytes, totals.total_bytes)}{wide ? `, ${gibNear(bar[0])} to ${gibNear(bar[1])}` : ''}</div>
          </div>
        );
      })}
      <div class="part">
        <div class="k"><Term word="Total" /></div>
        <div class="n">{gib1(totals.total_bytes)}<span class="u">GiB</span></div>
        <div class="s">{totals.total_low_bytes !== undefined ? `${gib1(totals.total_low_bytes)} to ${gib1(totals.total_high_bytes ?? totals.total_bytes)}` : 'exact'}</div>
      </div>
    </div>
  );
}

export function Limits({ plan, request }: { plan: Plan; request: Request }) {
  const cards = use((state) => state.cards);
  const inspect = use((state) => state.inspect);
  const users = usersOf(request);
  const longest = plan.longest_sequence_tokens;
  const most = plan.users;
  const cheapest = cards?.find((row) => row.choice.usd_per_hour !== undefined)?.choice;
  const atModelLimit = longest !== undefined && longest > 0 && longest === inspect?.inspect.max_positions;
  const thousand = plan.kv.bytes_per_token * 1024 * users;
  return (
    <dl class="limits">
      <div>
        <dt>Longest context, {plural(users, 'user')}</dt>
        <dd id="longest">{longest ? grouped(longest) : 'none'}<small>{longest ? (atModelLimit ? 'tokens, the model’s own limit' : 'tokens per user') : 'no length fits'}</small></dd>
      </div>
      <div>
        <dt>Most users at {tokens(contextOf(request))}</dt>
        <dd id="most-users">{most === undefined ? 'not known' : grouped(most)}<small>{plan.primary_reading === 'reserve' && plan.kv.pool_tokens > 0 ? `pool of ${grouped(plan.kv.pool_tokens)} tokens` : 'each holding a full context'}</small></dd>
      </div>
      <div>
        <dt>One more 1k of context</dt>
        <dd>{thousand >= GiB ? gib1(thousand) : grouped(thousand / MiB)}<span class="u">{thousand >= GiB ? 'GiB' : 'MiB'}</span><small>{grouped(plan.kv.bytes_per_token / 1024)} KiB a token × {grouped(users)}</small></dd>
      </div>
      <div>
        <dt>Cheapest that fits</dt>
        <dd>
          {cheapest ? <>${cheapest.usd_per_hour!.toFixed(2)}<span class="u">an hour</span><small>{cheapest.count} × {gpuName(cheapest.gpu)}</small></>
            : cards ? <>none<small>no card with a known price, up to 8</small></> : <>…<small>comparing cards</small></>}
        </dd>
      </div>
    </dl>
  );
}

