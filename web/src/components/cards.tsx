// Cards that hold it: yours first, then those that fit by price. Prices carry their source and date.
import { useState } from 'preact/hooks';
import { Mini } from '../charts/mini';
import type { GpuChoice, Plan, Request } from '../core/types';
import { edit } from '../state/actions';
import { gpuName, gpus } from '../state/catalog';
import { sketch } from '../state/planner';
import { countOf, merge } from '../state/request';
import { use, type CardRow, type Sketch } from '../state/store';
import { gib1, grouped, signed } from '../text/format';
import { Chip } from './icons';

type Sort = 'name' | 'free' | 'users' | 'usd';
const SHOWN = 13;

interface Line {
  gpu: string;
  count: number;
  sketch: Sketch | undefined;
  choice: GpuChoice | undefined;
  mine: boolean;
}

export function Cards({ plan, request }: { plan: Plan; request: Request }) {
  const rows = use((state) => state.cards);
  const done = use((state) => state.cardsDone);
  const price = use((state) => state.price);
  const [[key, direction], setSort] = useState<[Sort, 1 | -1]>(['usd', 1]);
  const [all, setAll] = useState(false);
  const lines = sorted(linesOf(rows ?? [], plan, request), key, direction);
  const shown = all ? lines : lines.slice(0, SHOWN + 1);
  const th = (column: Sort, label: string, classes = '') => (
    <th class={classes} aria-sort={key === column ? (direction > 0 ? 'ascending' : 'descending') : undefined}>
      <button onClick={() => setSort([column, key === column ? (direction > 0 ? -1 : 1) : 1])}>{label}</button>
    </th>
  );
  return (
    <section class="sec" aria-labelledby="h-cards">
      <div class="sech"><h2 id="h-cards">Cards that hold it</h2><p>Fewest of each card that fit. Prices are on-demand list prices on the date read.</p></div>
      <div class="scroll" aria-busy={!done}>
        <table class="gt" id="cards">
          <thead>
            <tr>
              {th('name', 'Cards')}<th class="hidesm pic">Fullest card</th><th class="r hidesm">Needs</th><th class="r hidesm hidemd">Has</th>
              {th('free', 'Free', 'r hidesm')}{th('users', 'Users', 'r')}<th class="hidesm verd">Verdict</th>{th('usd', '$ an hour', 'r')}<th class="r hidesm hidemd">Price from</th>
              <th class="r"><span class="sr">Try</span></th>
            </tr>
          </thead>
          <tbody>{shown.map((line) => <CardLine key={`${line.mine} ${line.gpu}`} {...line} price={line.mine ? (line.choice ?? price) : line.choice} />)}</tbody>
        </table>
      </div>
      {!rows && <p class="muted below">Comparing cards…</p>}
      {rows?.length === 0 && <p class="muted below">No card of the catalog holds it, up to 8 of a kind. A smaller format or a shorter context will.</p>}
      {lines.length > SHOWN + 1 && <button class="btn below" onClick={() => setAll(!all)}>{all ? 'Show fewer' : `Show all ${grouped(lines.length)}`}</button>}
    </section>
  );
}

function linesOf(rows: CardRow[], plan: Plan, request: Request): Line[] {
  const own = rows.find((row) => row.choice.gpu === request.hardware.gpu && row.choice.count === countOf(request));
  const mine: Line = { gpu: request.hardware.gpu ?? '', count: countOf(request), sketch: sketch(plan), choice: own?.choice, mine: true };
  return [mine, ...rows.filter((row) => row !== own).map((row): Line => ({ gpu: row.choice.gpu, count: row.choice.count, sketch: row.sketch, choice: row.choice, mine: false }))];
}

function sorted(lines: Line[], key: Sort, direction: number): Line[] {
  const free = (line: Line) => (line.choice ? line.choice.free_bytes : (line.sketch?.limit ?? 0) - (line.sketch?.total ?? 0));
  const value = (line: Line): number =>
    key === 'usd' ? (line.choice?.usd_per_hour ?? 1e9) : key === 'free' ? -free(line) : key === 'users' ? -(line.choice?.users ?? 0) : gpus.findIndex((gpu) => gpu.id === line.gpu);
  return [...lines].sort((a, b) => Number(b.mine) - Number(a.mine) || direction * (value(a) - value(b)));
}

function CardLine({ gpu, count, sketch: bar, choice, mine, price }: Line & { price: GpuChoice | undefined }) {
  const free = bar ? bar.limit - bar.total : choice?.free_bytes;
  const outcome = mine ? bar?.outcome : choice?.outcome;
  const max = bar ? Math.max(bar.card, bar.total) * 1.01 : 1;
  const take = () => edit((current) => ({ ...merge(current, { hardware: { gpu, count, total_bytes: null, used_bytes: null, devices: null }, engine: { options: choice?.options ?? {} } }) }));
  return (
    <tr class={mine ? 'cur' : ''}>
      <td>
        <b>{count} ×</b> {gpuName(gpu || undefined)}{mine && <> <span class="tag">yours</span></>}
        {choice?.layout && count > 1 && !choice.layout.startsWith('layer split') && <span class="muted layout"> {choice.layout}</span>}
        {bar && <span class="onlysm"><Mini sketch={bar} width={200} height={14} max={max} /></span>}
      </td>
      <td class="hidesm pic">{bar && <Mini sketch={bar} width={180} height={20} max={max} />}</td>
      <td class="r hidesm">{bar ? gib1(bar.total) : choice ? gib1(choice.taken_bytes) : ''}</td>
      <td class="r hidesm hidemd">{bar ? gib1(bar.card) : ''}</td>
      <td class="r hidesm">{free === undefined ? '' : signed(free)}</td>
      <td class="r">{choice?.users !== undefined ? grouped(choice.users) : ''}</td>
      <td class="hidesm verd">{outcome && <Chip outcome={outcome} />}</td>
      <td class="r">{price?.usd_per_hour !== undefined ? price.usd_per_hour.toFixed(2) : gpu && <span class="muted">none read</span>}</td>
      <td class="r muted hidesm hidemd nw from">{price?.offer ? `${price.offer.replace(/^\d+ x /, '').split(' ')[0]} ${price.price_date}` : ''}</td>
      <td class="r">{!mine && <button class="btn sm" aria-label={`Try ${count} × ${gpuName(gpu)}`} onClick={take}>Try</button>}</td>
    </tr>
  );
}
