// The list of keys; single letters can be switched off (WCAG 2.1.4).
import { useEffect, useRef } from 'preact/hooks';
import { set, use } from '../state/store';

const KEYS: [string, string][] = [
  ['/', 'Search models'], ['c', 'Context'], ['u', 'Users'], ['g', 'Card'], ['p', 'Pin this plan'], ['s', 'Copy the link'],
  ['t', 'Theme: system, light, dark'], ['?', 'This list'], ['Esc', 'Close, or leave a field'],
];

export function Help() {
  const open = use((state) => state.help);
  const keys = use((state) => state.keys);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open && !dialog.current!.open) dialog.current!.showModal();
    if (!open && dialog.current!.open) dialog.current!.close();
  }, [open]);
  return (
    <dialog id="help" aria-labelledby="h-help" ref={dialog} onClose={() => set({ help: false })}>
      <h2 id="h-help">Keys</h2>
      <dl>{KEYS.map(([key, text]) => [<dt><span class="kbd">{key}</span></dt>, <dd>{text}</dd>])}</dl>
      <p class="muted">Arrows move in choices, lists, sliders, the curve (with Shift by 8k) and the map; Enter takes.</p>
      <label class="check"><input type="checkbox" checked={keys} onChange={(event) => set({ keys: event.currentTarget.checked })} /> Single-letter keys are on</label>
      <button class="btn ink" onClick={() => set({ help: false })}>Close</button>
    </dialog>
  );
}
