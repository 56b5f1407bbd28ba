// A pasted log beside the plan: what was predicted, what the server printed.
import { set, use } from '../state/store';
import { GiB, grouped } from '../text/format';

const shown = (value: number | undefined, unit: string | undefined) =>
  value === undefined ? '–' : unit === 'bytes' ? `${(value / GiB).toFixed(2)} GiB` : grouped(value);

export function Verification() {
  const verified = use((state) => state.verified);
  if (!verified) return null;
  return (
    <section class="sec" aria-labelledby="h-verified" id="verified">
      <div class="sech">
        <h2 id="h-verified">Predicted and logged</h2><p>{verified.answer}</p>
        <div class="end"><button class="btn sm" onClick={() => set({ verified: undefined })}>Close</button></div>
      </div>
      {verified.lines && (
        <div class="scroll">
          <table>
            <thead><tr><th>Line</th><th class="r">Predicted</th><th class="r">Logged</th></tr></thead>
            <tbody>{verified.lines.map((line, i) => <tr key={i}><td>{line.line}</td><td class="r">{shown(line.predicted, line.unit)}</td><td class="r">{shown(line.logged, line.unit)}</td></tr>)}</tbody>
          </table>
        </div>
      )}
    </section>
  );
}
