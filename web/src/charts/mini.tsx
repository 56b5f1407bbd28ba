// The small bar of a lever, a card, a pinned plan: parts, the limit, and what it was before as a dashed outline.
import { PARTS } from '../components/icons';
import type { Sketch } from '../state/store';

export interface MiniProps {
  sketch: Sketch;
  width: number;
  height: number;
  /** Bytes at the right end; several bars may share it. */
  max: number;
  before?: number | undefined;
}

export function Mini({ sketch, width, height, max, before }: MiniProps) {
  const scale = (width - 2) / max;
  const limit = Math.min(width - 1, sketch.limit * scale);
  let x = 0;
  return (
    <svg viewBox={`0 0 ${width} ${height}`} height={height} preserveAspectRatio="none" aria-hidden="true">
      {before !== undefined && (
        <rect x=".5" y="3.5" width={Math.max(0, before * scale - 1)} height={height - 7} fill="none" stroke="var(--edge)" stroke-dasharray="2 2" />
      )}
      {PARTS.map(({ key, token }) => {
        const wide = sketch.parts[key] * scale;
        const at = x;
        x += wide;
        if (wide < 0.4) return null;
        const box = { x: at.toFixed(2), y: 3, width: Math.max(0.8, wide - 0.5).toFixed(2), height: height - 6 };
        return [<rect {...box} fill={`var(--${token})`} />, <rect {...box} fill={`url(#p-${key}-s)`} />];
      })}
      <path d={`M${limit.toFixed(1)} 0v${height}`} stroke="var(--text)" stroke-width="2" />
    </svg>
  );
}
