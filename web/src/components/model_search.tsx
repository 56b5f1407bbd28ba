// Model search: combobox over the catalog, families as headings, size and cache per token beside the name.
import { useEffect, useRef, useState } from 'preact/hooks';
import { chooseModel } from '../state/actions';
import { models, nearestModel, searchModels, type ModelEntry } from '../state/catalog';
import { grouped, parameters } from '../text/format';

const MOST_SHOWN = 160; // a list longer than that is searched, not scrolled

interface Props {
  /** What is chosen, as shown in the field. */
  name: string;
  id: string | undefined;
}

export function ModelSearch({ name, id }: Props) {
  const [typed, setTyped] = useState<string>();
  const [at, setAt] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const open = typed !== undefined;
  const found = open ? searchModels(typed) : [];
  const shown = found.slice(0, MOST_SHOWN);
  const chosen = Math.min(at, shown.length - 1);

  useEffect(() => {
    if (open) list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [open, chosen, typed]);

  const show = () => {
    if (open) return;
    setTyped('');
    setAt(Math.max(0, models.findIndex((model) => model.id === id)));
    input.current?.select();
  };
  const take = (model: ModelEntry | undefined) => {
    setTyped(undefined);
    if (model) chooseModel(model.id);
  };
  const keys = (event: KeyboardEvent) => {
    if (!open) {
      if (event.key === 'ArrowDown' || event.key === 'Enter') show();
      return;
    }
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (step) {
      event.preventDefault();
      setAt(Math.max(0, Math.min(shown.length - 1, chosen + step)));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      if (shown[chosen]) take(shown[chosen]);
      else if (typed.includes('/')) {
        setTyped(undefined);
        chooseModel(typed.trim()); // a name of its own: the core says what it knows about it
      }
    } else if (event.key === 'Escape') {
      event.stopPropagation();
      setTyped(undefined);
    }
  };
  const near = open && found.length === 0 ? nearestModel(typed) : undefined;
  return (
    <div class="combo">
      <input
        class="ctl" id="model" ref={input} role="combobox" aria-label="Model" aria-expanded={open} aria-controls="models" aria-autocomplete="list"
        aria-activedescendant={open && shown.length ? `model-${chosen}` : undefined} aria-keyshortcuts="/"
        autocomplete="off" spellcheck={false} placeholder={`Search ${grouped(models.length)} models`}
        value={open && typed !== '' ? typed : name}
        onFocus={show} onClick={show}
        onInput={(event) => { setTyped(event.currentTarget.value); setAt(0); }}
        onBlur={() => setTyped(undefined)} onKeyDown={keys}
      />
      <span class="kbd" aria-hidden="true">/</span>
      <div class="pop" id="models" role="listbox" tabIndex={-1} aria-label="Models" ref={list} hidden={!open} onMouseDown={(event) => event.preventDefault()}>
        {open && shown.map((model, i) => [
          model.family !== shown[i - 1]?.family && (
            <div class="fam" role="presentation"><span>{model.family}</span>{i === 0 && [<i>size</i>, <i>a token</i>]}</div>
          ),
          <div key={model.id} role="option" id={`model-${i}`} data-m={model.id} aria-selected={i === chosen} title={model.id} onClick={() => take(model)}>
            <b><Marked text={model.id.slice(model.id.lastIndexOf('/') + 1)} typed={typed} /></b>
            <i>{parameters(model.parameters)}</i>
            <i>{cache(model.cacheBytesPerToken)}</i>
          </div>,
        ])}
        {open && found.length === 0 && (
          <p class="none">
            No model by that name in the catalog.
            {near && <> A similar name exists: <button type="button" class="link" tabIndex={-1} onClick={() => take(near)}>{near.id}</button>.</>}
            {' '}You can also drop its config.json.
          </p>
        )}
        {open && <div class="pfoot" role="presentation"><span>{grouped(found.length)} of {grouped(models.length)} models{found.length > MOST_SHOWN ? ', type to narrow' : ''}</span><span>↑↓ Enter</span></div>}
      </div>
    </div>
  );
}

const cache = (bytes: number) => (bytes === 0 ? '–' : bytes < 10240 ? `${(bytes / 1024).toFixed(1)} KiB` : `${grouped(bytes / 1024)} KiB`);

/** The part that was typed, underlined. */
function Marked({ text, typed }: { text: string; typed: string }) {
  const word = typed.trim().split(/\s+/)[0]?.toLowerCase() ?? '';
  const at = word ? text.toLowerCase().indexOf(word) : -1;
  if (at < 0) return <>{text}</>;
  return <>{text.slice(0, at)}<mark>{text.slice(at, at + word.length)}</mark>{text.slice(at + word.length)}</>;
}
