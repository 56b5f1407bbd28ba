// Memory against context: stacked areas, the card's line, the high estimate dashed, a reading that the
// pointer or the arrow keys move and that a click or Enter takes.
import { useState } from 'preact/hooks';
import { PARTS } from '../components/icons';
import type { Card } from '../core/grid';
import type { Component } from '../core/types';
import type { CurvePoint } from '../state/store';
import { GiB, gib1, grouped, tokens as short } from '../text/format';
import { textWidth, tickStep, useWidth } from './measure';

interface Props {
  points: CurvePoint[];
  limit: number;
  context: number;
  /** The longest context that fits; 0: none. */
  longest: number;
  limitWord: string;
  cards: Card[];
  /** What the simulated load holds at p50 and at p99 of the time, and the length that 99 % of its requests justify. */
  traffic: { low: number; high: number; length: number | undefined } | undefined;
  onTake(tokens: number): void;
}

const partOf = (point: CurvePoint, key: Component) => point.totals[`${key}_bytes`];
const total = (point: CurvePoint) => point.totals.total_bytes;

/** Between two points of the curve the line is drawn straight, and so it is read. */
function at(points: CurvePoint[], tokens: number): number {
  const after = points.findIndex((point) => point.tokens >= tokens);
  if (after < 0) return total(points.at(-1)!);
  if (after === 0) return total(points[0]!);
  const [a, b] = [points[after - 1]!, points[after]!];
  return total(a) + ((total(b) - total(a)) * (tokens - a.tokens)) / (b.tokens - a.tokens);
}

export function Curve(props: Props) {
  const { points, limit, context, longest, onTake } = props;
  const [ref, width] = useWidth<HTMLDivElement>(260);
  const [reading, setReading] = useState<number>();
  const end = points.at(-1)?.tokens ?? 0;
  const here = Math.min(reading ?? context, end);
  const bytes = at(points, here);
  const left = limit - bytes;
  const clamp = (tokens: number) => Math.max(256, Math.min(end, Math.round(tokens / 256) * 256));
  const sentence = `At ${grouped(here)} tokens: ${gib1(bytes)} GiB, ${left < 0 ? `${gib1(left)} over` : `${gib1(left)} free`}.`;
  const frame = layout(width, props);
  return (
    <>
      <p class="read">
        At <b>{grouped(here)}</b> tokens: <b>{gib1(bytes)} GiB</b>, {left < 0 ? `${gib1(left)} over` : `${gib1(left)} free`}.{' '}
        {longest > 0 && longest < end ? <>The last length that fits is <b>{grouped(longest)}</b>.</> : longest > 0 ? 'Every length drawn here fits.' : 'No length fits.'}
      </p>
      <div
        id="curve" ref={ref} tabIndex={0} role="slider" aria-label="Memory against context; arrow keys move the reading, Enter takes it"
        aria-valuemin={256} aria-valuemax={end} aria-valuenow={here} aria-valuetext={sentence}
        onPointerMove={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          setReading(clamp(((event.clientX - box.left - frame.left) / frame.wide) * end));
        }}
        onPointerLeave={() => setReading(undefined)}
        onBlur={() => setReading(undefined)}
        onClick={() => reading !== undefined && onTake(reading)}
        onKeyDown={(event) => {
          const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
          if (step) {
            event.preventDefault();
            setReading(clamp(here + step * (event.shiftKey ? 8192 : 1024)));
          } else if (event.key === 'Home' || event.key === 'End') {
            event.preventDefault();
            setReading(event.key === 'Home' ? 256 : end);
          } else if (event.key === 'Enter' && reading !== undefined) {
            onTake(reading);
          } else if (event.key === 'Escape') {
            setReading(undefined);
          }
        }}
      >
        {width > 0 && points.length > 1 && <Drawing {...props} width={width} here={here} bytes={bytes} />}
      </div>
    </>
  );
}

function layout(width: number, { points, limit }: Pick<Props, 'points' | 'limit'>) {
  const height = Math.min(330, Math.max(250, width * 0.62));
  const left = 40, right = width < 420 ? 12 : 66, bottom = 34, top = 16;
  const last = points.at(-1);
  const high = last ? (last.totals.total_high_bytes ?? total(last)) : limit;
  const max = Math.max(limit * 1.12, Math.min(high, limit * 1.7)) * 1.02;
  return { height, left, right, bottom, top, wide: width - left - right, tall: height - bottom - top, max };
}

function Drawing({ points, limit, longest, limitWord, cards, traffic, width, here, bytes }: Props & { width: number; here: number; bytes: number }) {
  const { height, left, right, bottom, top, wide, tall, max } = layout(width, { points, limit });
  const end = points.at(-1)!.tokens;
  const X = (tokens: number) => left + (wide * tokens) / end;
  const Y = (size: number) => top + tall * (1 - size / max);
  const xy = (tokens: number, size: number) => `${X(tokens).toFixed(1)} ${Y(size).toFixed(1)}`;
  const step = tickStep(max / GiB, 6);
  const limitY = Y(limit);
  const limitText = `${limitWord} ${gib1(limit)}`;
  const third = points[Math.floor(points.length * 0.3)]!;
  const textX = total(third) > limit ? left + wide - textWidth(limitText) - 18 : left + 6;
  const base = points.map(() => 0);
  const areas = PARTS.map(({ key, token }) => {
    const lower = [...base];
    points.forEach((point, i) => (base[i]! += partOf(point, key)));
    const up = points.map((point, i) => xy(point.tokens, base[i]!));
    const down = points.map((point, i) => xy(point.tokens, lower[i]!)).reverse();
    const d = `M${up.join('L')}L${down.join('L')}Z`;
    return <g key={key}><path d={d} fill={`var(--${token})`} stroke="var(--surface)" /><path d={d} fill={`url(#p-${key})`} /></g>;
  });
  const over = points.filter((point) => total(point) > limit);
  const crossing = over.length > 0 && longest > 0 ? Math.min(longest, over[0]!.tokens) : over[0]?.tokens;
  const beyond = crossing !== undefined && over.length > 0
    ? `M${xy(crossing, limit)}L${over.map((point) => xy(point.tokens, total(point))).join('L')}V${limitY.toFixed(1)}Z` : undefined;
  const fractions = wide / 5 > 64 ? [0, 0.25, 0.5, 0.75, 1] : [0, 0.5, 1];
  const rounded = (tokens: number) => Math.round(tokens / 256) * 256;
  return (
    <svg viewBox={`0 0 ${width} ${height}`} height={height} aria-hidden="true">
      {Array.from({ length: Math.floor(max / GiB / step) + 1 }, (_, i) => i * step).map((tick) => (
        <g key={tick}>
          <path d={`M${left} ${Y(tick * GiB).toFixed(1)}h${wide}`} stroke="var(--line)" />
          <text x={left - 8} y={Y(tick * GiB) + 4} font-size="11.5" fill="var(--text3)" text-anchor="end">{tick}</text>
        </g>
      ))}
      <clipPath id="curve-clip"><rect x={left} y={top} width={Math.max(0, wide)} height={tall} /></clipPath>
      <g clip-path="url(#curve-clip)">
        {areas}
        {beyond && [<path d={beyond} fill="var(--surface)" fill-opacity=".55" />, <path d={beyond} fill="url(#p-beyond)" />]}
        <path d={`M${points.map((p) => xy(p.tokens, p.totals.total_high_bytes ?? total(p))).join('L')}`} fill="none" stroke="var(--text)" stroke-dasharray="3 3" />
        <path d={`M${points.map((p) => xy(p.tokens, total(p))).join('L')}`} fill="none" stroke="var(--text)" stroke-width="2" />
      </g>
      {traffic && <TrafficBand {...traffic} left={left} wide={wide} bottom={top + tall} x={traffic.length === undefined || traffic.length > end ? undefined : X(traffic.length)} y={Y} />}
      {right > 40 && cards.filter((card) => Math.abs(card.total - limit) > max * 0.055 && card.total < max * 0.97).map((card, i, shown) => {
        const y = Y(card.total);
        if (i > 0 && Math.abs(Y(shown[i - 1]!.total) - y) < 13) return null;
        return <g key={card.label}><path d={`M${left + wide} ${y.toFixed(1)}h6`} stroke="var(--edge)" /><text x={left + wide + 9} y={y + 4} font-size="11.5" fill="var(--text3)">{card.label}</text></g>;
      })}
      <path d={`M${left} ${limitY.toFixed(1)}H${left + wide}`} stroke="var(--surface)" stroke-width="5" />
      <path d={`M${left} ${limitY.toFixed(1)}H${left + wide + (right > 40 ? 6 : 0)}`} stroke="var(--text)" stroke-width="2" />
      <rect x={textX} y={limitY - 20} width={textWidth(limitText) + 12} height="17" rx="2" fill="var(--surface)" />
      <text x={textX + 6} y={limitY - 7.5} font-size="12" font-weight="600" fill="var(--text)">{limitText}</text>
      {right > 40 && <text x={left + wide + 9} y={limitY + 4} font-size="11.5" font-weight="600" fill="var(--text)">limit</text>}
      {fractions.map((f) => (
        <text key={f} x={X(end * f)} y={height - bottom + 18} font-size="11.5" fill="var(--text3)" text-anchor={f === 1 ? 'end' : f ? 'middle' : 'start'}>
          {f ? short(rounded(end * f)) : '0'}
        </text>
      ))}
      <text x={left - 8} y={top - 4} font-size="11.5" fill="var(--text3)" text-anchor="end">GiB</text>
      <text x={left + wide / 2} y={height - 2} font-size="11.5" fill="var(--text3)" text-anchor="middle">tokens per user</text>
      {longest > 0 && longest < end && (
        <g>
          <path d={`M${X(longest).toFixed(1)} ${limitY.toFixed(1)}V${height - bottom}`} stroke="var(--text)" stroke-dasharray="2 3" />
          <circle cx={X(longest)} cy={limitY} r="4.5" fill="var(--surface)" stroke="var(--text)" stroke-width="2" />
        </g>
      )}
      <path d={`M${X(here).toFixed(1)} ${top}V${height - bottom}`} stroke="var(--text)" stroke-width="1.25" />
      <circle cx={X(here)} cy={Math.max(top, Y(bytes))} r="5" fill="var(--text)" stroke="var(--surface)" stroke-width="2" />
    </svg>
  );
}

/** Between what the load holds half of the time and what it holds 99 % of it: the worst case is rarely reached. */
function TrafficBand({ low, high, left, wide, bottom, x, y }: { low: number; high: number; left: number; wide: number; bottom: number; x: number | undefined; y(bytes: number): number }) {
  const [top, base] = [y(high), y(low)];
  const label = 'traffic, p50 to p99';
  return (
    <g class="traffic-band">
      <rect x={left} y={top.toFixed(1)} width={Math.max(0, wide)} height={Math.max(2, base - top).toFixed(1)} fill="var(--text)" fill-opacity=".18" />
      <path d={`M${left} ${top.toFixed(1)}h${wide}M${left} ${base.toFixed(1)}h${wide}`} stroke="var(--text)" stroke-dasharray="1 3" />
      <rect x={left + wide - textWidth(label, 11.5) - 6} y={base + 3} width={textWidth(label, 11.5) + 4} height="16" rx="2" fill="var(--surface)" />
      <text x={left + wide - 4} y={base + 15} font-size="11.5" fill="var(--text)" text-anchor="end">{label}</text>
      {x !== undefined && <path d={`M${x.toFixed(1)} ${bottom - 7}v7M${(x - 4).toFixed(1)} ${bottom - 7}h8`} stroke="var(--text)" stroke-width="2" />}
    </g>
  );
}
