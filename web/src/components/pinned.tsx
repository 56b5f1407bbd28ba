// Pinned plans side by side; A is the reference, the differences stand small behind the values.
import { Mini } from '../charts/mini';
import { change, sketch } from '../state/planner';
import { unpin } from '../state/actions';
import { use } from '../state/store';
import { GiB, gib1, grouped } from '../text/format';
import { Chip, PARTS, Swatch } from './icons';
import type { ComponentChildren } from 'preact';

const LETTERS = 'ABCD';

export function Pinned() {
  const pins = use((state) => state.pins);
  return (
    <section class="sec" aria-labelledby="h-pinned" id="compare">
      <div class="sech"><h2 id="h-pinned">Pinned plans</h2><p>{pins.length > 1 ? 'Differences are against A.' : ''}</p></div>
      {pins.length === 0 ? <p class="muted">Nothing pinned. Pin this plan, change something, and pin again to see them side by side.</p> : <Table />}
    </section>
  );
}

function Table() {
  const pins = use((state) => state.pins);
  const bars = pins.map((pin) => sketch(pin.plan));
  const first = bars[0]!;
  const max = Math.max(...bars.map((bar) => Math.max(bar.card, bar.total))) * 1.01;
  const against = (value: number, reference: number, i: number) =>
    i > 0 && Math.abs(value - reference) > 0.05 * GiB ? <small>{value < reference ? '\u2212' : '+'}{gib1(value - reference)}</small> : null;
  const row = (label: ComponentChildren, cell: (i: number) => ComponentChildren) => (
    <tr><th scope="row">{label}</th>{pins.map((_, i) => <td key={i}>{cell(i)}</td>)}</tr>
  );
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Pinned plans, table">
      <table class="cmp">
        <thead>
          <tr>
            <th><span class="sr">Plan</span></th>
            {pins.map((pin, i) => (
              <th key={i} scope="col">
                <button class="btn sm quiet rm" aria-label={`Remove plan ${LETTERS[i]}`} onClick={() => unpin(i)}>✕</button>
                <button class="link plain" title="Show this plan" onClick={() => change(pin.request)}>{LETTERS[i]}. {pin.title}</button>
                <small>{pin.note}</small>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {row('Verdict', (i) => <Chip outcome={bars[i]!.outcome} />)}
          {row('Fullest card', (i) => <Mini sketch={bars[i]!} width={220} height={22} max={max} />)}
          {row('Needs', (i) => <><b>{gib1(bars[i]!.total)}</b> GiB{against(bars[i]!.total, first.total, i)}</>)}
          {PARTS.map(({ key, name }) => row(<span class="named"><Swatch part={key} />{name}</span>, (i) => <>{gib1(bars[i]!.parts[key])}{against(bars[i]!.parts[key], first.parts[key], i)}</>))}
          {row('Longest context', (i) => grouped(pins[i]!.plan.longest_sequence_tokens ?? 0))}
          {row('Users at this length', (i) => grouped(pins[i]!.plan.users ?? 0))}
        </tbody>
      </table>
    </div>
  );
}
