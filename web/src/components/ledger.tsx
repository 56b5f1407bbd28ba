// Where every byte goes: the rows of the fullest card by part, each open to its formula, exact bytes and source.
import { useState } from 'preact/hooks';
import { fullest } from '../core/pictures';
import type { LedgerRow, Plan } from '../core/types';
import { MiB, capital, gib2, grouped } from '../text/format';
import { Chevron, PARTS, Swatch } from './icons';
import { TERMS } from '../state/terms';

const sum = (rows: LedgerRow[], pick: (row: LedgerRow) => number) => rows.reduce((all, row) => all + pick(row), 0);
const low = (row: LedgerRow) => row.low_bytes ?? row.bytes;
const high = (row: LedgerRow) => row.high_bytes ?? row.bytes;
const span = (from: number, to: number) => (to - from > MiB ? `${gib2(from)} to ${gib2(to)}` : '');

export function Ledger({ plan }: { plan: Plan }) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const device = fullest(plan)?.index ?? 'host';
  const rows = plan.ledger.filter((row) => row.device === device || row.device === 'host');
  const key = (row: LedgerRow) => `${row.device} ${row.component} ${row.item}`;
  const toggle = (row: LedgerRow) => {
    const next = new Set(open);
    if (!next.delete(key(row))) next.add(key(row));
    setOpen(next);
  };
  const counted = rows.filter((row) => row.device === device);
  const groups = PARTS.map((part) => ({ ...part, rows: rows.filter((row) => row.component === part.key), own: counted.filter((row) => row.component === part.key) }))
    .filter((group) => group.rows.length > 0);
  const largest = Math.max(...groups.map((group) => sum(group.own, (row) => row.bytes)), 1);
  const reading = { need: 'needed by this load', reserve: 'taken at start-up', peak: 'at the worst moment' }[plan.primary_reading];
  return (
    <section class="sec" aria-labelledby="h-ledger">
      <div class="sech">
        <h2 id="h-ledger">Where every byte goes</h2>
        <p>{capital(reading)}{plan.devices.length > 1 ? `, on GPU ${device}, the fullest` : ''}. Open a row for its formula.</p>
        <div class="end">
          <button class="btn sm" id="open-all" onClick={() => setOpen(open.size > 0 ? new Set() : new Set(rows.map(key)))}>{open.size > 0 ? 'Close all' : 'Open all'}</button>
        </div>
      </div>
      <div class="led">
        <div class="lrow lhd"><span /><span>Item</span><span /><span class="r">GiB</span><span class="r">Low to high</span><span>Basis</span></div>
        {groups.map((group) => {
          const bytes = sum(group.own, (row) => row.bytes);
          return [
            <div class="lgrp" key={group.key}>
              <Swatch part={group.key} /><span>{group.name}</span>
              <Bar bytes={bytes} of={largest} token={group.token} />
              <span class="v">{gib2(bytes)}</span>
              <span class="rg">{span(sum(group.own, low), sum(group.own, high))}</span><span />
            </div>,
            ...group.rows.map((row, i) => <Row key={key(row)} id={`row-${group.key}-${i}`} row={row} open={open.has(key(row))} largest={largest} token={group.token} host={row.device !== device} onToggle={() => toggle(row)} />),
          ];
        })}
        <div class="lgrp ltot">
          <span /><span>Total</span><span /><span class="v">{gib2(sum(counted, (row) => row.bytes))}</span>
          <span class="rg">{span(plan.totals.total_low_bytes ?? 0, plan.totals.total_high_bytes ?? 0)}</span><span />
        </div>
      </div>
    </section>
  );
}

function Row({ id, row, open, largest, token, host, onToggle }: { id: string; row: LedgerRow; open: boolean; largest: number; token: string; host: boolean; onToggle(): void }) {
  const [words, operands] = (row.formula ?? '').split(/; (?=\w+ = )/);
  return (
    <>
      <button class={`lrow${host ? ' host' : ''}`} aria-expanded={open} aria-controls={id} onClick={onToggle}>
        <Chevron /><span class="nm">{row.item}{host && !/host/.test(row.item) ? ', in host RAM' : ''}</span>
        {host ? <span /> : <Bar bytes={row.bytes} of={largest} token={token} />}
        <span class="v">{host ? `(${gib2(row.bytes)})` : gib2(row.bytes)}</span>
        <span class="rg">{span(low(row), high(row))}</span>
        <span><span class="tag" title={TERMS[row.basis]}>{row.basis}</span></span>
      </button>
      {open && (
        <div class="lfx" id={id}>
          <pre>
            {words ? `${words.replaceAll(' x ', ' × ')}\n` : ''}
            {operands ? <i>{operands.split(/, (?=\w+ = )/).map((part) => `  ${part}\n`).join('')}</i> : null}
            = <b>{grouped(row.bytes)}</b> <i>bytes</i>
          </pre>
          <p>{TERMS[row.basis]}{row.source ? ` Source: ${row.source}.` : ''}</p>
        </div>
      )}
    </>
  );
}

const Bar = ({ bytes, of, token }: { bytes: number; of: number; token: string }) => (
  <span class="mb"><i style={{ width: `${((100 * bytes) / of).toFixed(2)}%`, background: `var(--${token})` }} /></span>
);
