// A choice of a few: radiogroup with one stop for Tab, arrows move and choose.
import { useRef } from 'preact/hooks';

interface Props<T extends string> {
  id?: string;
  label?: string;
  labelledby?: string;
  values: [T, string][];
  value: T | undefined;
  small?: boolean;
  columns?: number;
  onChange(value: T): void;
}

export function Segmented<T extends string>({ id, label, labelledby, values, value, small, columns, onChange }: Props<T>) {
  const root = useRef<HTMLDivElement>(null);
  const index = values.findIndex(([candidate]) => candidate === value);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const from = [...root.current!.children].indexOf(document.activeElement!);
    const next = (Math.max(from, 0) + step + values.length) % values.length;
    onChange(values[next]![0]);
    (root.current!.children[next] as HTMLElement).focus();
  };
  return (
    <div
      class={`seg${small ? ' sm' : ''}${columns ? ' grid' : ''}`} id={id} ref={root} role="radiogroup"
      aria-label={label} aria-labelledby={labelledby} onKeyDown={move}
    >
      {values.map(([candidate, text], i) => (
        <button
          key={candidate} type="button" role="radio" data-v={candidate} aria-checked={candidate === value}
          tabIndex={i === Math.max(index, 0) ? 0 : -1} onClick={() => onChange(candidate)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}
