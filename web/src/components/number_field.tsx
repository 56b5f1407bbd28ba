// A labelled number of any unit; what is no number in its range leaves the value as it was.
interface Props {
  id: string;
  label: string;
  unit?: string;
  value: number | undefined;
  least: number;
  most: number;
  /** Shown while there is no value. */
  placeholder?: string;
  /** undefined: the field was emptied. */
  onChange(value: number | undefined): void;
}

export function NumberField({ id, label, unit, value, least, most, placeholder, onChange }: Props) {
  return (
    <div class="opt">
      <label for={id}>{label}{unit && <span class="muted">, {unit}</span>}</label>
      <input class="ctl" id={id} inputMode="decimal" autocomplete="off" placeholder={placeholder ?? ''} value={value === undefined ? '' : String(value)}
        onChange={(event) => {
          const field = event.currentTarget;
          const typed = field.value.trim().replace(/[_ ]/g, '').replace(',', '.');
          const size = Number(typed);
          if (typed === '') onChange(undefined);
          else if (Number.isFinite(size) && size >= least && size <= most) onChange(size);
          field.value = value === undefined ? '' : String(value);
        }} />
    </div>
  );
}
