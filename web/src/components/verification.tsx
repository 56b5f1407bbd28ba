// A pasted log beside the plan of the same start: what was predicted, what the server printed, what is off.
import { toast } from '../state/actions';
import { checked } from '../state/link';
import { change } from '../state/planner';
import { set, use, type Verified } from '../state/store';
import { GiB, MiB, capital, grouped } from '../text/format';

const shown = (value: number, unit: string | undefined) =>
  unit !== 'bytes' ? grouped(value) : Math.abs(value) >= GiB ? `${(value / GiB).toFixed(2)} GiB` : `${(value / MiB).toFixed(2)} MiB`;
const difference = (value: number, unit: string | undefined) => (value === 0 ? '0' : `${value < 0 ? '\u2212' : '+'}${shown(Math.abs(value), unit)}`);

export function Verification() {
  const verified = use((state) => state.verified);
  if (!verified) return null;
  const off = (verified.checks ?? []).filter((check) => !check.holds);
  const about = [verified.engine, verified.version, verified.model].filter(Boolean).join(', ');
  return (
    <section class="sec" aria-labelledby="h-verified" id="verified">
      <div class="sech">
        <h2 id="h-verified">Predicted and logged</h2><p>{about}</p>
        <div class="end">
          {verified.request && <button class="btn sm" onClick={() => planIt(verified)}>Plan this start</button>}
          <button class="btn sm" aria-label="Close the comparison" onClick={() => set({ verified: undefined })}>Close</button>
        </div>
      </div>
      <p class="say">{verified.answer}</p>
      {verified.lacking && verified.lacking.length > 0 && <p class="muted below">The log does not say: {verified.lacking.join(', ')}.</p>}
      {verified.rows && verified.rows.length > 0 && <Rows rows={verified.rows} />}
      {[...(verified.attribution ?? []).filter((entry) => entry.beyond_bar), ...off].map((entry, i) => <p class="below" key={i}>{capital(entry.text)}</p>)}
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

function Rows({ rows }: { rows: NonNullable<Verified['rows']> }) {
  return (
    <div class="scroll below" tabIndex={0} role="region" aria-label="Predicted and logged, table">
      <table>
        <thead><tr><th>Line</th><th class="r">Predicted</th><th class="r hidesm">Low to high</th><th class="r">Logged</th><th class="r">Difference</th><th class="verd">Within the bar</th></tr></thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={i}>
              <td>{row.line}</td>
              <td class="r">{shown(row.predicted, row.unit)}</td>
              <td class="r muted hidesm">{row.low !== undefined ? `${shown(row.low, row.unit)} to ${shown(row.high ?? row.predicted, row.unit)}` : 'exact'}</td>
              <td class="r"><b>{shown(row.logged, row.unit)}</b></td>
              <td class="r">{difference(row.difference, row.unit)}</td>
              <td class="verd">{row.within_bar ? 'yes' : 'no'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
