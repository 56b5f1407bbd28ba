// The cache in use over time: least to most of each stretch as a band, its mean as a line, and the quantiles over
// all of it at the right. A reading follows the pointer or the arrow keys.
import { useState } from 'preact/hooks';
import type { Simulated } from '../core/types';
import { seconds, share } from '../text/seconds';
import { useWidth } from './measure';

const HEIGHT = 190, LEFT = 44, BOTTOM = 30, TOP = 12;

export function Timeline({ simulated }: { simulated: Simulated }) {
  const { timeline } = simulated;
  const [ref, width] = useWidth<HTMLDivElement>(260);
  const [reading, setReading] = useState<number>();
  const last = timeline.mean.length - 1;
  const right = width < 420 ? 40 : 66;
  const wide = width - LEFT - right;
  const here = reading === undefined ? undefined : Math.max(0, Math.min(last, reading));
  const time = (i: number) => seconds((i + 0.5) * timeline.seconds_per_point);
  const sentence = here === undefined
    ? `${share(simulated.occupancy.p50)} of the pool at p50, ${share(simulated.occupancy.p95)} at p95, ${share(simulated.occupancy.p99)} at p99; at most ${share(simulated.occupancy.peak)}.`
    : `After ${time(here)}: ${share(timeline.mean[here]!)} in use, between ${share(timeline.low[here]!)} and ${share(timeline.high[here]!)}; ${timeline.waiting[here]!.toFixed(1)} waiting.`;
  if (last < 1) return <p class="muted">Too short to draw.</p>;
  return (
    <>
      <p class="read">{sentence}</p>
      <div
        id="timeline" ref={ref} tabIndex={0} role="slider" aria-label="Cache in use over time; arrow keys move the reading"
        aria-valuemin={0} aria-valuemax={last} aria-valuenow={here ?? last} aria-valuetext={sentence}
        onPointerMove={(event) => setReading(Math.round(((event.clientX - event.currentTarget.getBoundingClientRect().left - LEFT) / wide) * last))}
        onPointerLeave={() => setReading(undefined)} onBlur={() => setReading(undefined)}
        onKeyDown={(event) => {
          const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
          const far = { Home: 0, End: last }[event.key];
          if (step) setReading(Math.max(0, Math.min(last, (here ?? last) + step * (event.shiftKey ? 10 : 1))));
          else if (far !== undefined) setReading(far);
          else if (event.key === 'Escape') setReading(undefined);
          if (step || far !== undefined) event.preventDefault();
        }}
      >
        {width > 0 && <Drawing simulated={simulated} width={width} wide={wide} here={here} end={seconds(timeline.mean.length * timeline.seconds_per_point)} />}
      </div>
    </>
  );
}

function Drawing({ simulated, width, wide, here, end }: { simulated: Simulated; width: number; wide: number; here: number | undefined; end: string }) {
  const { timeline, occupancy } = simulated;
  const last = timeline.mean.length - 1;
  const tall = HEIGHT - BOTTOM - TOP;
  // A pool that is nearly empty is drawn to a round share above its peak.
  const top = [0.05, 0.1, 0.25, 0.5, 1].find((step) => Math.max(occupancy.peak, ...timeline.high) * 1.05 <= step) ?? 1;
  const X = (i: number) => LEFT + (wide * i) / last;
  const Y = (part: number) => TOP + tall * (1 - Math.min(part, top) / top);
  const path = (values: number[]) => values.map((value, i) => `${X(i).toFixed(1)} ${Y(value).toFixed(1)}`);
  const band = `M${path(timeline.high).join('L')}L${path(timeline.low).reverse().join('L')}Z`;
  let above = -Infinity;
  const marks = ([['p99', occupancy.p99], ['p95', occupancy.p95], ['p50', occupancy.p50]] as const).map(([name, value]) => {
    const y = Y(value);
    // Two labels never lie on each other: the lower one moves down.
    const text = Math.max(y + 4, above + 13);
    above = text;
    return { name, value, y, text };
  });
  return (
    <svg viewBox={`0 0 ${width} ${HEIGHT}`} height={HEIGHT} aria-hidden="true">
      {[0, 0.5, 1].map((part) => (
        <g key={part}>
          <path d={`M${LEFT} ${Y(part * top).toFixed(1)}h${wide}`} stroke="var(--line)" />
          <text x={LEFT - 8} y={Y(part * top) + 4} font-size="11.5" fill="var(--text3)" text-anchor="end">{`${+(part * top * 100).toFixed(1)} %`}</text>
        </g>
      ))}
      <path d={band} fill="var(--kv)" fill-opacity=".35" />
      <path d={`M${path(timeline.mean).join('L')}`} fill="none" stroke="var(--text)" stroke-width="1.5" />
      {marks.map(({ name, y, text }) => (
        <g key={name}>
          <path d={`M${LEFT} ${y.toFixed(1)}h${wide + 6}`} stroke="var(--text)" stroke-dasharray="3 3" />
          <text x={LEFT + wide + 9} y={text} font-size="11.5" fill="var(--text2)">{name}</text>
        </g>
      ))}
      <text x={LEFT} y={HEIGHT - 10} font-size="11.5" fill="var(--text3)">0</text>
      <text x={LEFT + wide} y={HEIGHT - 10} font-size="11.5" fill="var(--text3)" text-anchor="end">{end}</text>
      {here !== undefined && (
        <g>
          <path d={`M${X(here).toFixed(1)} ${TOP}V${TOP + tall}`} stroke="var(--text)" stroke-width="1.25" />
          <circle cx={X(here)} cy={Y(timeline.mean[here]!)} r="4.5" fill="var(--text)" stroke="var(--surface)" stroke-width="2" />
        </g>
      )}
    </svg>
  );
}
