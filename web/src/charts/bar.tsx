// Memory on the cards: parts from 0, the limit in ink, what lies beyond it hatched, the error bar as a whisker.
import type { JSX } from 'preact';
import { PARTS } from '../components/icons';
import type { Outcome } from '../core/types';
import { GiB, gib1 } from '../text/format';
import type { Bar } from './bar_data';
import { textWidth, tickStep, useWidth } from './measure';

const THIN = 84; // narrower parts carry their name above the bar or not at all

interface Props {
  bars: Bar[];
  outcome: Outcome;
  /** In words, at the limit: "79.2 GiB usable". */
  limitText: string;
  label: string;
}

export function MemoryBars(props: Props) {
  const [ref, width] = useWidth<HTMLDivElement>(260);
  return (
    <div class="bars" ref={ref} data-o={props.outcome}>
      {width > 0 && <Drawing {...props} width={width} />}
    </div>
  );
}

function Drawing({ bars, outcome, limitText, label, width }: Props & { width: number }) {
  const max = Math.max(...bars.map((bar) => Math.max(bar.high, bar.card, bar.limit))) || 1;
  const scale = (width - 1) / max;
  const several = bars.length > 1 || bars[0]!.label !== '';
  const tall = several && bars.length > 2 ? 30 : 54;
  const first = bars[0]!;
  const names = several ? [] : thinNames(first, scale);
  const limitX = first.limit * scale;
  const crowded = names.length > 0 && width >= 560 && names.at(-1)!.x + textWidth(names.map((n) => n.text).join('  ')) > limitX - textWidth(limitText, 12.5) - 26;
  const top = crowded ? 52 : 34;
  const parts: JSX.Element[] = [];
  let y = top;
  bars.forEach((bar, i) => {
    if (several) {
      y += 16;
      parts.push(<text x="0" y={y - 5} font-size="12" fill="var(--text2)">{bar.label}</text>);
    }
    parts.push(<Row key={i} bar={bar} y={y} tall={tall} scale={scale} outcome={outcome} width={width} />);
    y += tall + (i < bars.length - 1 ? 18 : 0);
  });
  const over = first.total > first.limit;
  const plus = `+${gib1(first.total - first.limit)}`;
  const plusInside = over && width - limitX < textWidth(plus, 12.5) + 10;
  const labelY = top - (crowded ? 33 : 14);
  const labelEnd = Math.max(textWidth(limitText, 12.5), Math.min(limitX - 7, plusInside ? width - textWidth(plus, 12.5) - 12 : Infinity));
  const step = tickStep(max / GiB, 5);
  const ticks = Array.from({ length: Math.floor(max / GiB / step) + 1 }, (_, i) => i * step);
  y += 8;
  return (
    <svg class="anim" viewBox={`0 0 ${width} ${y + 24}`} height={y + 24} role="img" aria-label={label}>
      {parts}
      {crowded && <path d={`M${limitX.toFixed(1)} ${labelY - 9}V${top}`} stroke="var(--text)" stroke-width="2" />}
      <text x={labelEnd} y={labelY} font-size="12.5" font-weight="600" fill="var(--text)" text-anchor="end">{limitText}</text>
      {over && (
        <text x={plusInside ? width : limitX + 7} y={labelY} font-size="12.5" font-weight="650" fill="var(--v)" text-anchor={plusInside ? 'end' : 'start'}>{plus}</text>
      )}
      {!several && <ThinNames names={names} y={top} width={width} edge={crowded ? width : labelEnd - textWidth(limitText, 12.5) - 14} />}
      {ticks.map((tick) => {
        const x = tick * GiB * scale;
        return [
          <path d={`M${Math.min(width - 0.5, x + 0.5).toFixed(1)} ${y}v5`} stroke="var(--edge)" />,
          (x < width - 14 || tick === 0) && (
            <text x={x.toFixed(1)} y={y + 18} font-size="11.5" fill="var(--text3)" text-anchor={tick ? 'middle' : 'start'}>{tick || '0 GiB'}</text>
          ),
        ];
      })}
    </svg>
  );
}

function Row({ bar, y, tall, scale, outcome, width }: { bar: Bar; y: number; tall: number; scale: number; outcome: Outcome; width: number }) {
  const limit = bar.limit * scale;
  const card = bar.card * scale;
  const over = bar.total > bar.limit;
  let at = 0;
  const segments = PARTS.map((part) => {
    const x = at;
    at += bar.parts[part.key] * scale;
    return { ...part, x, wide: at - x, bytes: bar.parts[part.key] };
  });
  const [low, high] = [bar.low * scale, bar.high * scale];
  const middle = y + tall / 2;
  const whisker = `M${low.toFixed(1)} ${middle}H${high.toFixed(1)}M${low.toFixed(1)} ${middle - 9}v18M${high.toFixed(1)} ${middle - 9}v18`;
  const end = Math.max(at, high);
  const spare = `${gib1(bar.limit - bar.total)} GiB ${bar.pool ? 'to spare' : 'free'}`;
  return (
    <g>
      <rect x=".5" y={y + 0.5} width={Math.max(0, card - 1).toFixed(1)} height={tall - 1} rx="2" fill="var(--sunken)" stroke="var(--line)" />
      {limit < card - 1 && <rect x={limit.toFixed(1)} y={y} width={(card - limit).toFixed(1)} height={tall} fill="url(#p-out)" />}
      {segments.map(({ key, token, x, wide }) => {
        if (wide < 0.4) return null;
        const box = { class: 'sg', x: x.toFixed(2), y, width: Math.max(0.8, wide - 1).toFixed(2), height: tall };
        return [<rect {...box} fill={`var(--${token})`} />, <rect {...box} fill={`url(#p-${key})`} />];
      })}
      {bar.pool !== undefined && limit - at > 3 && (
        <rect x={at.toFixed(1)} y={y + 0.75} width={(limit - at - 1).toFixed(1)} height={tall - 1.5} fill="none" stroke="var(--kv)" stroke-width="1.5" stroke-dasharray="4 3" />
      )}
      {over && <rect x={limit.toFixed(1)} y={y - 0.5} width={(at - limit).toFixed(1)} height={tall + 1} fill="url(#p-over)" stroke="var(--v)" stroke-width="1.5" />}
      {segments.map((segment) => <Name {...segment} y={y} tall={tall} />)}
      {high - low > 5 && [
        <path d={whisker} stroke="var(--surface)" stroke-width="5.5" stroke-linecap="round" />,
        <path d={whisker} stroke="var(--text)" stroke-width="2" />,
      ]}
      <path d={`M${limit.toFixed(1)} ${y - 8}v${tall + 14}`} stroke="var(--text)" stroke-width="2" />
      {!over && limit - end > textWidth(spare, 13) + 22 && end + textWidth(spare, 13) < width && (
        <text x={(end + 12).toFixed(1)} y={middle + 4.5} font-size="13" font-weight="600" fill={outcome === 'fits' ? 'var(--fits)' : 'var(--text2)'}>{spare}</text>
      )}
    </g>
  );
}

/** Inside its part, on a plain patch of the part's colour so that the pattern does not run through it. */
function Name({ name, bytes, token, on, x, wide, y, tall }: { name: string; bytes: number; token: string; on: string; x: number; wide: number; y: number; tall: number }) {
  const value = `${gib1(bytes)} GiB`;
  if (tall > 40) {
    const patch = Math.max(textWidth(name, 13), textWidth(value, 13)) + 14;
    if (wide <= THIN || wide < patch + 8) return null;
    return (
      <g>
        <rect class="mv" x={(x + 8).toFixed(1)} y={y + 7} width={patch.toFixed(0)} height={tall - 14} rx="2" fill={`var(--${token})`} />
        <text x={(x + 15).toFixed(1)} y={y + 24} font-size="13" font-weight="600" fill={`var(--${on})`}>{name}</text>
        <text x={(x + 15).toFixed(1)} y={y + 41} font-size="13" fill={`var(--${on})`}>{value}</text>
      </g>
    );
  }
  const short = gib1(bytes);
  const patch = textWidth(short, 13) + 12;
  if (wide < patch + 14) return null;
  return (
    <g>
      <rect x={(x + 6).toFixed(1)} y={y + 6} width={patch} height={tall - 12} rx="2" fill={`var(--${token})`} />
      <text x={(x + 12).toFixed(1)} y={y + 20} font-size="13" font-weight="600" fill={`var(--${on})`}>{short}</text>
    </g>
  );
}

interface Thin {
  text: string;
  x: number;
}

function thinNames(bar: Bar, scale: number): Thin[] {
  let at = 0;
  const names: Thin[] = [];
  for (const { key, name } of PARTS) {
    const wide = bar.parts[key] * scale;
    if (wide <= THIN && wide > 1) names.push({ text: `${name} ${gib1(bar.parts[key])}`, x: at + wide / 2 });
    at += wide;
  }
  return names;
}

/** Names of thin parts on a rail above the bar, where there is room; they stand in "parts" all the same. */
function ThinNames({ names, y, width, edge }: { names: Thin[]; y: number; width: number; edge: number }) {
  if (names.length === 0) return null;
  const rail = y - 14;
  const style = { 'font-size': '12', fill: 'var(--text2)' };
  const [left, right] = [names[0]!, names.at(-1)!];
  const all = names.map((name) => name.text).join(',  ');
  let texts: JSX.Element | undefined;
  if (names.length === 2 && width >= 560 && left.x - textWidth(left.text) > 0 && right.x + textWidth(right.text) < edge) {
    texts = <g><text x={left.x - 1} y={rail} text-anchor="end" {...style}>{left.text}</text><text x={right.x + 1} y={rail} {...style}>{right.text}</text></g>;
  } else if (left.x + textWidth(all) + 8 < edge) {
    texts = <text x={Math.max(0, left.x - 3)} y={rail} {...style}>{all}</text>;
  } else if (Math.min(right.x, edge) - textWidth(all) > 0) {
    texts = <text x={Math.min(right.x + 3, edge)} y={rail} text-anchor="end" {...style}>{all}</text>;
  }
  return texts ? <g>{texts}{names.map(({ x }) => <path d={`M${x.toFixed(1)} ${y - 2}v-7`} stroke="var(--text3)" />)}</g> : null;
}
