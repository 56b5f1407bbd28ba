import type { JSX } from 'preact';
import type { Component, Outcome } from '../core/types';

/** Fixed first, what grows last: the part that meets the limit. Name, colour token, token of text on it. */
export const PARTS: { key: Component; name: string; token: string; on: string }[] = [
  { key: 'weights', name: 'Weights', token: 'weights', on: 'on-weights' },
  { key: 'activations', name: 'Activations', token: 'act', on: 'on-act' },
  { key: 'runtime', name: 'Runtime', token: 'run', on: 'on-run' },
  { key: 'kv_cache', name: 'KV cache', token: 'kv', on: 'on-kv' },
];

export const WORDS: Record<Outcome, string> = {
  fits: 'Fits', tight: 'Tight', does_not_fit: 'Does not fit', refuses_to_start: 'Refuses to start',
};

const SHAPES: Record<Outcome, JSX.Element> = {
  fits: <circle cx="10" cy="10" r="9" />,
  tight: <path d="M10 1.6 19 18H1z" />,
  does_not_fit: <rect x="1" y="1" width="18" height="18" rx="4" />,
  refuses_to_start: <path d="M6.3 1h7.4L19 6.3v7.4L13.7 19H6.3L1 13.7V6.3z" />,
};
const STROKES: Record<Outcome, string> = {
  fits: 'M5 10.5l3.4 3.4L15 7',
  tight: 'M10 7.4v4.4M10 14.8v.3',
  does_not_fit: 'M6.4 6.4l7.2 7.2M13.6 6.4l-7.2 7.2',
  refuses_to_start: 'M6 10h8',
};

export function Glyph({ outcome }: { outcome: Outcome }) {
  return (
    <svg class="g" viewBox="0 0 20 20" aria-hidden="true">
      <g fill="var(--v)">{SHAPES[outcome]}</g>
      <path d={STROKES[outcome]} fill="none" stroke="var(--surface)" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}

export function Chip({ outcome }: { outcome: Outcome }) {
  return (
    <span class="chip" data-o={outcome}>
      <Glyph outcome={outcome} />
      {WORDS[outcome]}
    </span>
  );
}

export function Swatch({ part }: { part: Component }) {
  const { token } = PARTS.find((entry) => entry.key === part)!;
  return (
    <svg class="sw" viewBox="0 0 14 14" aria-hidden="true">
      <rect width="14" height="14" fill={`var(--${token})`} />
      <rect width="14" height="14" fill={`url(#p-${part})`} />
    </svg>
  );
}

export const Chevron = () => (
  <svg class="chev" viewBox="0 0 10 10" aria-hidden="true">
    <path d="M3 1l4 4-4 4" fill="none" stroke="currentColor" stroke-width="1.6" />
  </svg>
);

const PATHS = {
  list: 'M2 3.5h12M2 8h12M2 12.5h7',
  pinned: 'M2.5 13.5v-7h4v7zM9.5 13.5v-11h4v11z',
  save: 'M8 2v8m0 0L5 7.2M8 10l3-2.8M2.5 10.5v3h11v-3',
  link: 'M6.5 9.5l3-3M7 4.5l1.3-1.3a3.2 3.2 0 0 1 4.5 4.5L11.5 9M9 11.5l-1.3 1.3a3.2 3.2 0 0 1-4.5-4.5L4.5 7',
  pin: 'M8 10.5V15M4 10.5h8M5.5 1.5h5l-.6 5 2.1 4H4l2.1-4z',
};

export const Icon = ({ name }: { name: keyof typeof PATHS }) => (
  <svg viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
);

export const Logo = () => (
  <svg viewBox="0 0 22 22" aria-hidden="true">
    <rect x="1" y="12" width="20" height="8" rx="1.5" fill="var(--weights)" />
    <rect x="1" y="6" width="20" height="5" fill="var(--kv)" />
    <rect x="1" y="2" width="20" height="3" rx="1" fill="var(--act)" />
  </svg>
);
