// The fits map: context × users, GiB needed in each cell, coloured by the smallest card that holds it.
import { useState } from 'preact/hooks';
import type { JSX } from 'preact';
import type { Cell, Grid } from '../core/grid';
import { GiB, gib1, short, tokens } from '../text/format';
import { divides, held, stepPath, type Frame } from './map_lines';
import { textWidth, useWidth } from './measure';

interface Props {
  grid: Grid;
  limit: number;
  /** Memory of the user's own card. */
  total: number;
  /** The user's own card, for its line: "H100 SXM". */
  card: string;
  several: boolean;
  context: number;
  users: number;
  onTake(context: number, users: number): void;
}

const NONE = 6; // colour of "no single card"

const colourOf = (cell: Cell) => (cell.card < 0 ? NONE : cell.card);
/** Inside the error bars counts as held: the colour says which card, the verdict says how sure. */
export const holds = (cell: Cell) => cell.outcome === 'fits' || cell.outcome === 'tight';

export function FitsMap(props: Props) {
  const { grid, limit, context, users, onTake, several } = props;
  const [ref, width] = useWidth<HTMLDivElement>(260);
  const [reading, setReading] = useState<[number, number]>();
  const own: [number, number] = [Math.max(0, grid.contexts.indexOf(context)), Math.max(0, grid.users.indexOf(users))];
  const [c, u] = reading ?? own;
  const here = grid.cells[u]?.[c];
  const need = here?.need.total_bytes;
  const frame = layout(width, grid);
  const cell = (event: PointerEvent | MouseEvent, box: DOMRect): [number, number] => [
    clamp(Math.floor((event.clientX - box.left - frame.left) / frame.wide), grid.contexts.length),
    clamp(grid.users.length - 1 - Math.floor((event.clientY - box.top - frame.top) / frame.tall), grid.users.length),
  ];
  const left = need === undefined ? 0 : limit - need;
  const size = need === undefined ? 'no answer' : need > 1000 * GiB ? `${(need / GiB / 1024).toFixed(1)} TiB` : `${gib1(need)} GiB`;
  return (
    <>
      <p class="read" id="mapread">
        <b>{grid.users[u]}</b> {grid.users[u] === 1 ? 'user' : 'users'} × <b>{tokens(grid.contexts[c] ?? 0)}</b>: <b>{size}</b>
        {!here ? '' : left < 0 ? `, ${-left > 1000 * GiB ? 'far' : `${gib1(left)} GiB`} over` : holds(here) ? `, fits with ${gib1(left)} free` : ', does not start'}.
        {' '}Cells are GiB needed{several ? ' on each card' : ''}; lines are what one card holds.
      </p>
      <div
        id="map" ref={ref} tabIndex={0} role="application" aria-roledescription="map" aria-describedby="mapread"
        aria-label="Map of context and users; arrow keys move, Enter takes the cell"
        onPointerMove={(event) => setReading(cell(event, event.currentTarget.getBoundingClientRect()))}
        onPointerLeave={() => setReading(undefined)}
        onBlur={() => setReading(undefined)}
        onClick={(event) => {
          const [x, y] = cell(event, event.currentTarget.getBoundingClientRect());
          onTake(grid.contexts[x]!, grid.users[y]!);
        }}
        onKeyDown={(event) => {
          const step = ({ ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] } as Record<string, [number, number]>)[event.key];
          if (step) {
            event.preventDefault();
            setReading([clamp(c + step[0], grid.contexts.length), clamp(u + step[1], grid.users.length)]);
          } else if (event.key === 'Enter') {
            onTake(grid.contexts[c]!, grid.users[u]!);
          } else if (event.key === 'Escape') {
            setReading(undefined);
          }
        }}
      >
        {width > 0 && <Drawing {...props} width={width} at={[c, u]} frame={frame} />}
      </div>
    </>
  );
}

const clamp = (index: number, count: number) => Math.max(0, Math.min(count - 1, index));

function layout(width: number, grid: Grid): Frame & { right: number; height: number } {
  const left = 34, bottom = 42, top = 4, right = width >= 380 ? 84 : 4;
  const wide = Math.max(1, (width - left - right) / grid.contexts.length);
  const tall = Math.max(34, Math.min(40, wide * 0.66));
  return { left, top, wide, tall, rows: grid.users.length, right, height: top + tall * grid.users.length + bottom };
}

function Drawing({ grid, total, card, several, width, at, frame }: Props & { width: number; at: [number, number]; frame: ReturnType<typeof layout> }) {
  const { left, top, wide, tall, rows, right, height } = frame;
  const place = (c: number, u: number): [number, number] => [left + c * wide, top + (rows - 1 - u) * tall];
  const lines: JSX.Element[] = [];
  const labels = new Labels();
  const line = (label: string, test: (cell: Cell) => boolean, mine: boolean) => {
    const tops = held(grid.cells.map((row) => row.map(test)));
    if (!divides(tops, rows)) return;
    const d = stepPath(tops, frame);
    lines.push(
      <path d={d} fill="none" stroke="var(--surface)" stroke-width={mine ? 6 : 3} stroke-linejoin="round" />,
      <path d={d} fill="none" stroke="var(--text)" stroke-width={mine ? 3.5 : 1.25} stroke-linejoin="round" />,
    );
    labels.put(label, tops, mine);
  };
  if (!several) {
    // A card of the user's own size would draw its line beside the user's.
    grid.cards.forEach((reference, i) => {
      if (Math.abs(reference.total - total) / total > 0.06) line(reference.label, (cell) => cell.card >= 0 && cell.card <= i, false);
    });
  }
  line(card, holds, true);
  const [x, y] = place(at[0], at[1]);
  const box = { x: x + 1, y: y + 1, width: wide - 2, height: tall - 2, fill: 'none' };
  return (
    <svg viewBox={`0 0 ${width} ${height}`} height={height} aria-hidden="true">
      {grid.users.map((_, u) => grid.contexts.map((_, c) => {
        const cell = grid.cells[u]![c]!;
        const colour = colourOf(cell);
        const [x, y] = place(c, u);
        return (
          <g key={`${u} ${c}`}>
            <rect x={x + 0.5} y={y + 0.5} width={wide - 1} height={tall - 1} fill={`var(--m${colour})`} />
            <text x={x + wide / 2} y={y + tall / 2 + 4.5} font-size={wide < 36 ? '11.5' : '12.5'} font-weight={holds(cell) ? 650 : 400} fill={`var(--mi${colour})`} text-anchor="middle">
              {short(cell.need.total_bytes)}
            </text>
          </g>
        );
      }))}
      <clipPath id="map-clip"><rect x={left} y={top - 2} width={wide * grid.contexts.length} height={tall * rows + 4} /></clipPath>
      <g clip-path="url(#map-clip)">{lines}</g>
      <rect {...box} stroke="var(--surface)" stroke-width="5" />
      <rect {...box} stroke="var(--focus)" stroke-width="3" />
      {labels.draw(frame, width, right)}
      {grid.users.map((count, u) => <text x={left - 8} y={place(0, u)[1] + tall / 2 + 4} font-size="11.5" fill="var(--text3)" text-anchor="end">{count}</text>)}
      {grid.contexts.map((count, c) => <text x={place(c, 0)[0] + wide / 2} y={height - 20} font-size="11.5" fill="var(--text3)" text-anchor="middle">{tokens(count)}</text>)}
      <text x={left + (wide * grid.contexts.length) / 2} y={height - 4} font-size="11.5" fill="var(--text3)" text-anchor="middle">tokens per user</text>
    </svg>
  );
}

/** Where lines leave the map: at the right edge or at the bottom. Lines that leave together share a label. */
class Labels {
  private readonly side = new Map<number, [string, boolean][]>();
  private readonly below = new Map<number, [string, boolean][]>();

  put(label: string, tops: number[], mine: boolean): void {
    const last = tops.at(-1)!;
    const [map, at] = last > 0 ? [this.side, last] : [this.below, tops.indexOf(0)];
    if (last === 0 && at <= 0) return;
    map.set(at, [...(map.get(at) ?? []), [label, mine]]);
  }

  private static join(entries: [string, boolean][]): string {
    const mine = entries.filter(([, own]) => own).map(([label]) => label);
    const others = entries.filter(([, own]) => !own).map(([label]) => label.replace(' GB', ''));
    return [...mine, ...(others.length ? [`${others.join(', ')} GB`] : [])].join(', ');
  }

  draw({ left, top, wide, tall, rows }: Frame, width: number, right: number): JSX.Element[] {
    const out: JSX.Element[] = [];
    if (right > 20) {
      for (const [count, entries] of this.side) {
        let y = top + (rows - count) * tall + 4;
        for (const own of [true, false]) {
          const some = entries.filter(([, mine]) => mine === own);
          if (some.length === 0) continue;
          out.push(<text x={width - right + 6} y={y} font-size="11.5" font-weight={own ? 650 : 400} fill={own ? 'var(--text)' : 'var(--text2)'}>{Labels.join(some)}</text>);
          y += 13;
        }
      }
    }
    const bottom = top + rows * tall;
    let free = left; // no two labels on each other
    for (const [column, entries] of [...this.below].sort((a, b) => a[0] - b[0])) {
      const own = entries.some(([, mine]) => mine);
      const text = Labels.join(entries);
      const wideText = textWidth(text, 11.5) + 10;
      const x = Math.max(free, Math.min(width - wideText - 1, left + column * wide - wideText / 2));
      if (x + wideText > width) continue;
      free = x + wideText + 3;
      out.push(
        <rect x={x} y={bottom - 6} width={wideText} height="16" rx="3" fill={own ? 'var(--text)' : 'var(--surface)'} stroke={own ? 'var(--text)' : 'var(--edge)'} />,
        <text x={x + wideText / 2} y={bottom + 6} font-size="11.5" font-weight={own ? 600 : 500} fill={own ? 'var(--surface)' : 'var(--text)'} text-anchor="middle">{text}</text>,
      );
    }
    return out;
  }
}
