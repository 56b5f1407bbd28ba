// A pasted log beside the plan of the same start: what was predicted, what the server printed, what is off; and
// when it died, why, and what would have started.
import { toast } from '../state/actions';
import { checked } from '../state/link';
import { change } from '../state/planner';
import { set, use, type Failure, type Verified } from '../state/store';
import { GiB, MiB, capital, grouped } from '../text/format';
import { Glyph } from './icons';

const shown = (value: number, unit: string | undefined) =>
  unit !== 'bytes' ? (Number.isInteger(value) || value >= 100 ? grouped(value) : value.toFixed(2)) : Math.abs(value) >= GiB ? `${(value / GiB).toFixed(2)} GiB` : `${(value / MiB).toFixed(1)} MiB`;

/** What is lost in rounding is no difference. */
const difference = (value: number, unit: string | undefined) =>
  (unit === 'bytes' && Math.abs(value) < 0.05 * MiB) || Math.abs(value) < 0.005 ? '0' : `${value < 0 ? '\u2212' : '+'}${shown(Math.abs(value), unit)}`;

export function Verification() {
  const verified = use((state) => state.verified);
  if (!verified) return null;
  const { failure, rows = [] } = verified;
  const off = [
    ...(verified.attribution ?? []).filter((entry) => entry.beyond_bar).map((entry) => entry.text),
    ...(verified.checks ?? []).filter((check) => !check.holds).map((check) => check.text),
  ];
  const about = [verified.engine, verified.version, verified.model].filter(Boolean).join(', ');
  const outcome = failure ? 'refuses_to_start' : off.length > 0 || verified.agrees === false ? 'does_not_fit' : 'fits';
  return (
    <section class="sec" aria-labelledby="h-verified" id="verified" data-o={outcome}>
      <div class="sech">
        <h2 id="h-verified">{failure ? 'Why it died' : 'Predicted and logged'}</h2><p>{about}</p>
        <div class="end">
          {verified.request && <button class="btn sm" onClick={() => planIt(verified)}>Plan this start</button>}
          <button class="btn sm" aria-label="Close the comparison" onClick={() => set({ verified: undefined })}>Close</button>
        </div>
      </div>
      <p class="vsay"><Glyph outcome={outcome} /><span>{capital(verified.answer)}.</span></p>
      {failure && <Died failure={failure} />}
      {verified.lacking && verified.lacking.length > 0 && <p class="muted below">The log does not say: {verified.lacking.join(', ')}. Choose it in the question and paste the log again.</p>}
      {off.length > 0 && <><h3>What is off</h3><ul class="notes one">{off.map((text) => <li key={text}>{capital(text)}</li>)}</ul></>}
      {rows.length > 0 && <Rows rows={rows} />}
    </section>
  );
}

function planIt(verified: Verified): void {
  try {
    change(checked(verified.request));
    toast('Now: the start that the log tells of');
  } catch {
    toast('The log does not name a model');
  }
}

const SHOWN = 6;

function Died({ failure }: { failure: Failure }) {
  const { needed, available, shortfall } = failure;
  const unit = failure.cause === 'state_slots' ? undefined : 'bytes';
  const figures = ([['Needed', needed], ['There', available], [failure.shortfall_is_least ? 'Short by at least' : 'Short by', shortfall]] as const)
    .filter((entry): entry is [typeof entry[0], number] => entry[1] !== undefined);
  return (
    <>
      {figures.length > 0 && <dl class="limits died">{figures.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{shown(value, unit)}</dd></div>)}</dl>}
      {failure.printed && <div class="enginesays"><b>What it printed{failure.log_line ? `, line ${grouped(failure.log_line)}` : ''}</b>{failure.printed}</div>}
      {failure.advice && failure.advice.length > 0 && (
        <>
          <h3>What to turn</h3>
          <ul class="notes one">{failure.advice.map((entry) => <li key={entry.knob}><code>{entry.knob}</code>: {entry.direction}. {capital(entry.text)}.</li>)}</ul>
        </>
      )}
      {failure.reproduced === false && <p class="muted below">The same start on the card of the question would not have died so: choose the card, the count and the memory that others use as they were, and paste the log again for the changes that would have started.</p>}
      {failure.reproduced !== false && failure.changes && failure.changes.length > 0 && (
        <>
          <h3>Would have started</h3>
          <div class="scroll" tabIndex={0} role="region" aria-label="Changes that would have started, table">
            <table id="would-start">
              <thead><tr><th>Change</th><th>Option</th><th class="hidesm">Cost</th></tr></thead>
              <tbody>{failure.changes.slice(0, SHOWN).map((entry, i) => (
                <tr key={entry.change}><td>{i === 0 ? <b>{capital(entry.change)}</b> : capital(entry.change)}</td><td>{entry.option && <code>{entry.option}</code>}</td><td class="muted hidesm">{entry.cost && capital(entry.cost)}</td></tr>
              ))}</tbody>
            </table>
          </div>
        </>
      )}
    </>
  );
}

type Row = NonNullable<Verified['rows']>[number];

function Rows({ rows }: { rows: Row[] }) {
  const largest = Math.max(...rows.filter((row) => row.unit === 'bytes').map((row) => Math.max(row.predicted, row.high ?? 0, row.logged)), 1);
  return (
    <div class="scroll below" tabIndex={0} role="region" aria-label="Predicted and logged, table">
      <table id="rows">
        <thead><tr><th>Line</th><th class="pic hidesm"><span class="sr">Bars: </span>above predicted, below logged</th><th class="r">Predicted</th><th class="r hidesm hidemd">Low to high</th><th class="r">Logged</th><th class="r hidesm">Difference</th><th class="verd">Bar</th></tr></thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={i} data-o={row.within_bar ? 'fits' : 'does_not_fit'}>
              <td>{row.line}<span class="onlysm">{row.unit === 'bytes' && <Pair row={row} most={largest} width={200} />}</span></td>
              <td class="pic hidesm">{row.unit === 'bytes' && <Pair row={row} most={largest} width={220} />}</td>
              <td class="r nw">{shown(row.predicted, row.unit)}</td>
              <td class="r nw muted hidesm hidemd">{row.low !== undefined ? `${shown(row.low, row.unit)} to ${shown(row.high ?? row.predicted, row.unit)}` : 'exact'}</td>
              <td class="r nw"><b>{shown(row.logged, row.unit)}</b></td>
              <td class="r nw hidesm">{difference(row.difference, row.unit)}</td>
              <td class="verd nw">{row.exact ? 'equal' : row.within_bar ? 'within' : <b class="vtext">beyond</b>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const TOKENS: Record<string, string> = { weights: 'weights', kv_cache: 'kv', groups: 'kv', activations: 'act' };

/** Predicted in the part's colour with its bar as a whisker, logged in ink below, on one scale for all rows. */
function Pair({ row, most, width }: { row: Row; most: number; width: number }) {
  const x = (bytes: number) => Math.max(0, (bytes / most) * (width - 3)) + 1;
  const [low, high] = [x(row.low ?? row.predicted), x(row.high ?? row.predicted)];
  return (
    <svg viewBox={`0 0 ${width} 20`} height={20} preserveAspectRatio="none" aria-hidden="true">
      <rect x="1" y="1" width={x(row.predicted).toFixed(1)} height="9" fill={`var(--${TOKENS[row.component] ?? 'run'})`} />
      <rect x="1" y="12" width={x(row.logged).toFixed(1)} height="7" fill={row.within_bar ? 'var(--text)' : 'var(--v)'} />
      {high - low > 3 && <path d={`M${low.toFixed(1)} 5.5H${high.toFixed(1)}M${low.toFixed(1)} 2v7M${high.toFixed(1)} 2v7`} stroke="var(--text)" stroke-width="1.25" />}
    </svg>
  );
}
