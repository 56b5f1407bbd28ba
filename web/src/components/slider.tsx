// A logarithmic slider with a typed value beside it; a triangle marks the last value that fits.
import { useEffect, useRef, useState } from 'preact/hooks';
import { parseCount } from '../text/format';

interface Props {
  id: string;
  shortcut: string;
  label: string;
  help?: preact.ComponentChildren;
  value: number;
  /** Steps of the slider: position → value and back. */
  steps: number;
  toValue(position: number): number;
  toPosition(value: number): number;
  ticks: [number, string][];
  /** The last value that fits; undefined: unknown, 0: none. */
  last: number | undefined;
  caption: string;
  least: number;
  most: number;
  text(value: number): string;
  spoken(value: number): string;
  onChange(value: number): void;
}

const percent = (part: number) => `${(Math.max(0, Math.min(1, part)) * 100).toFixed(2)}%`;
/** Centre of the thumb: it is 16 px wide and stays inside the track. */
const thumb = (part: number) => `calc(8px + (100% - 16px)*${Math.max(0, Math.min(1, part)).toFixed(4)})`;

export function Slider(props: Props) {
  const { id, label, value, steps, toPosition, toValue, last, onChange } = props;
  const range = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState<string>();
  const position = toPosition(value);
  const stop = last === undefined ? undefined : last <= 0 ? 0 : last >= props.most ? undefined : toPosition(last) / steps;
  useEffect(() => {
    const style = range.current!.style;
    style.setProperty('--p', percent(position / steps));
    style.setProperty('--lim', percent(stop ?? 1));
  });
  const take = (text: string) => {
    setTyped(undefined);
    const count = parseCount(text);
    if (count !== undefined && count > 0) onChange(Math.max(props.least, Math.min(props.most, count)));
  };
  return (
    <div class="f">
      <label for={id}>{props.help ?? label}</label>
      <div class="slide">
        <div class="track">
          <input
            type="range" id={id} ref={range} min="0" max={steps} step="1" value={Math.round(position)} aria-label={label}
            aria-keyshortcuts={props.shortcut} aria-valuetext={props.spoken(value)}
            onInput={(event) => onChange(Math.max(props.least, Math.min(props.most, toValue(Number(event.currentTarget.value)))))}
          />
          {stop !== undefined && stop > 0 && <span class="stop" style={{ left: thumb(stop) }} />}
        </div>
        <input
          class="ctl" id={`${id}-value`} aria-label={`${label}, typed`} inputMode="numeric" autocomplete="off"
          value={typed ?? props.text(value)}
          onInput={(event) => setTyped(event.currentTarget.value)}
          onBlur={(event) => typed !== undefined && take(event.currentTarget.value)}
          onKeyDown={(event) => event.key === 'Enter' && take(event.currentTarget.value)}
        />
        <div class="ticks" aria-hidden="true">
          {props.ticks.map(([at, text]) => <span key={text} style={{ left: thumb(toPosition(at) / steps) }}>{text}</span>)}
        </div>
        <div class="cap">{props.caption}</div>
      </div>
    </div>
  );
}
