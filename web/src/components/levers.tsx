// What would help: each change planned again, as a bar before and after, with what it costs and a Try button.
import { useState } from 'preact/hooks';
import { Mini } from '../charts/mini';
import type { Lever, Plan, Smallest } from '../core/types';
import { takeCards, tryLever } from '../state/actions';
import { gpuName } from '../state/catalog';
import { sketch } from '../state/planner';
import { use, type LeverRow } from '../state/store';
import { GiB, capital, gib1, plural } from '../text/format';
import { Chip } from './icons';

const SHOWN = 8;

export function Levers({ plan }: { plan: Plan }) {
  const rows = use((state) => state.levers);
  const stale = use((state) => state.of.levers !== state.answers);
  const [all, setAll] = useState(false);
  const now = sketch(plan);
  const shown = all ? rows : rows?.slice(0, SHOWN);
  return (
    <section class="sec" aria-labelledby="h-levers">
      <div class="sech">
        <h2 id="h-levers">{plan.outcome === 'fits' ? 'What each change would give' : 'What would help'}</h2>
        <p>Dashed is now, filled is after; the upright line is the limit.</p>
      </div>
      <div class={`levs${all ? ' all' : ''}`} id="levers" aria-busy={stale}>
        {!shown && <p class="muted">Trying changes…</p>}
        {shown?.length === 0 && <p class="muted">Nothing left to turn.</p>}
        {shown?.map((row, i) => <LeverLine key={`${i} ${row.lever.change}`} row={row} now={now} />)}
        {rows && rows.length > 5 && !all && (
          <button class={`btn morelev${rows.length > SHOWN ? ' always' : ''}`} onClick={() => setAll(true)}>
            Show {rows.length > SHOWN ? 'all' : `${rows.length - 5} more`}
          </button>
        )}
      </div>
    </section>
  );
}

/** Cards to take instead, by name. */
export const Cards = ({ smallest }: { smallest: Smallest }) => (
  <><button class="link" onClick={() => takeCards(smallest)}>{smallest.count} × {gpuName(smallest.gpu)}</button>{smallest.layout && smallest.count > 1 && ` (${smallest.layout})`}.</>
);

/** Each flag with its value: a line breaks between them, not after the dashes. */
const flags = (option: string) => option.split(/ (?=-)/);

/** A server that does not start prints nothing to check. */
const worth = (lever: Lever) => lever.starts && (lever.outcome === 'fits' || lever.outcome === 'tight' || !!lever.users);

function LeverLine({ row: { lever, after }, now }: { row: LeverRow; now: ReturnType<typeof sketch> }) {
  const max = Math.max(now.total, now.card, after?.card ?? 0, after?.total ?? 0) * 1.02;
  const freed = lever.freed_bytes;
  const left = after ? after.limit - after.total : undefined;
  const users = lever.users;
  return (
    <div class="lev">
      <div class="c"><b>{capital(lever.change)}</b>{lever.option && <code>{flags(lever.option).map((flag) => <span key={flag}>{flag} </span>)}</code>}</div>
      <div class="gr">
        {after ? <Mini sketch={after} width={260} height={22} max={max} before={now.total} /> : <div class="nobar" />}
        {lever.cost && <div class="cost">{capital(lever.cost)}.</div>}
        {lever.check && worth(lever) && <div class="cost check">To check: {lever.check.text}.</div>}
      </div>
      <div class="fr">{Math.abs(freed) < 0.05 * GiB ? '±0.0' : `${freed > 0 ? '\u2212' : '+'}${gib1(freed)}`}</div>
      <div class="o">
        <Chip outcome={lever.outcome} />
        <small>
          {[lever.outcome === 'fits' && !lever.reaches ? 'less than asked' : '', users ? plural(users, 'user') : '', lever.outcome === 'fits' && left !== undefined ? `${gib1(Math.max(0, left))} free` : ''].filter(Boolean).join(', ')}
        </small>
      </div>
      <div class="go"><button class="btn sm" aria-label={`Try: ${lever.change}`} onClick={() => tryLever(lever)}>Try</button></div>
    </div>
  );
}
