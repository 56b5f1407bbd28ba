// Curve and map side by side, each with a table of the same numbers.
import { Curve } from '../charts/curve';
import { FitsMap, holds } from '../charts/map';
import type { Grid } from '../core/grid';
import { fullest, limitOf, need } from '../core/pictures';
import type { Plan, Request, Simulated } from '../core/types';
import { edit } from '../state/actions';
import { gpuShort } from '../state/catalog';
import { contextOf, countOf, usersOf, withContext, withUsers } from '../state/request';
import { use, type CurvePoint } from '../state/store';
import { asksForTraffic } from '../state/traffic';
import { gib1, grouped, short, signed, tokens } from '../text/format';
import { Figure } from './figure';
import { PARTS, Swatch } from './icons';

export function Pictures({ plan, request }: { plan: Plan; request: Request }) {
  const points = use((state) => state.curve);
  const grid = use((state) => state.map);
  const simulated = use((state) => state.load?.answered);
  const traffic = simulated && asksForTraffic(request) ? band(plan, simulated) : undefined;
  const limit = limitOf(plan);
  const users = usersOf(request);
  const several = countOf(request) > 1;
  const card = several ? `${countOf(request)} × ${gpuShort(request.hardware.gpu)}` : gpuShort(request.hardware.gpu);
  return (
    <div class="pair sec">
      <Figure
        id="curve" title="Memory against context"
        picture={points?.length ? (
          <Curve points={points} limit={limit} context={contextOf(request)} longest={plan.longest_sequence_tokens ?? 0}
            limitWord={plan.primary_reading === 'reserve' ? 'for the load' : 'usable'} cards={grid?.cards ?? []} traffic={traffic}
            onTake={(value) => edit((current) => withContext(current, value))} />
        ) : <Waiting />}
        table={points && <CurveTable points={points} limit={limit} />}
        legend={<>{PARTS.map((part) => <span key={part.key}><Swatch part={part.key} />{part.name}</span>)}<span><svg width="18" height="8" aria-hidden="true"><path d="M0 4h18" stroke="var(--text)" stroke-dasharray="3 3" /></svg>high estimate</span>{traffic && <span>T: 99 % of requests are shorter</span>}</>}
      />
      <Figure
        id="map" title="Context × users"
        picture={grid ? (
          <FitsMap grid={grid} limit={limit} total={fullest(plan)?.total_bytes ?? limit} card={card} several={several} context={contextOf(request)} users={users}
            onTake={(context, count) => edit((current) => withUsers(withContext(current, context), count))} />
        ) : <Waiting />}
        table={grid && <MapTable grid={grid} />}
        legend={grid && <><span>Smallest card that holds the cell</span>{[...grid.cards.map((entry) => entry.label), 'no single card'].map((label, i) => <MapKey key={label} label={label} colour={i < grid.cards.length ? i : 6} />)}</>}
      />
    </div>
  );
}

/** The load's shares of the pool, on the plan's own scale: above what does not move with the load. */
function band(plan: Plan, simulated: Simulated) {
  const needed = need(plan);
  const fixed = needed.total_bytes - needed.kv_cache_bytes;
  const pool = plan.primary_reading === 'reserve' ? plan.readings.reserve.kv_cache_bytes : needed.kv_cache_bytes;
  const { p50, p99 } = simulated.occupancy;
  return { low: fixed + p50 * pool, high: fixed + p99 * pool, length: simulated.lengths.max_sequence_tokens_p99 };
}

const Waiting = () => <div class="waiting" aria-busy="true" />;

const MapKey = ({ label, colour }: { label: string; colour: number }) => (
  <span>
    <svg class="sw" viewBox="0 0 14 14" aria-hidden="true"><rect x=".5" y=".5" width="13" height="13" rx="2" fill={`var(--m${colour})`} stroke="var(--edge)" /></svg>
    {label}
  </span>
);

function CurveTable({ points, limit }: { points: CurvePoint[]; limit: number }) {
  const every = Math.max(1, Math.floor(points.length / 12));
  const shown = points.filter((_, i) => i % every === 0 || i === points.length - 1);
  return (
    <table>
      <thead><tr><th>Tokens</th>{PARTS.map((part) => <th key={part.key} class="r">{part.name}</th>)}<th class="r">Total, GiB</th><th class="r">Free</th></tr></thead>
      <tbody>
        {shown.map(({ tokens: at, totals }) => (
          <tr key={at}>
            <td>{grouped(at)}</td>
            {PARTS.map((part) => <td key={part.key} class="r">{gib1(totals[`${part.key}_bytes`])}</td>)}
            <td class="r">{gib1(totals.total_bytes)}</td>
            <td class="r">{signed(limit - totals.total_bytes)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function MapTable({ grid }: { grid: Grid }) {
  return (
    <table>
      <thead><tr><th>Users</th>{grid.contexts.map((at) => <th key={at} class="r">{tokens(at)}</th>)}</tr></thead>
      <tbody>
        {grid.users.map((count, u) => (
          <tr key={count}>
            <td>{count}</td>
            {grid.contexts.map((at, c) => {
              const cell = grid.cells[u]?.[c];
              return <td key={at} class="r">{cell && <>{short(cell.need.total_bytes)}{holds(cell) ? '' : <> ✕<span class="sr"> does not fit</span></>}</>}</td>;
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
