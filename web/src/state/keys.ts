// Single letters, never inside a field, switched off in the list of keys.
import { copyLink, nextTheme, pin } from './actions';
import { get, set } from './store';

const focus = (id: string) => {
  // On a phone the field may be folded away.
  const element = document.getElementById(id);
  if (element && element.offsetParent === null) document.querySelector<HTMLElement>('.askhead')?.click();
  requestAnimationFrame(() => document.getElementById(id)?.focus());
};

const KEYS: Record<string, () => void> = {
  '/': () => focus('model'),
  c: () => focus('context'),
  u: () => focus('users'),
  g: () => focus('gpu'),
  p: pin,
  s: () => void copyLink(),
  t: nextTheme,
  '?': () => set({ help: true }),
};

const FIELD = 'input:not([type=range]):not([type=checkbox]), select, textarea, [contenteditable]';

export function listenToKeys(): void {
  document.addEventListener('keydown', (event) => {
    const target = event.target as HTMLElement;
    if (event.key === 'Escape' && target.matches(`${FIELD}, input`)) target.blur();
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
    const { keys, help, term } = get();
    if (!keys || help || term !== undefined || target.matches(FIELD)) return;
    const run = KEYS[event.key];
    if (!run) return;
    event.preventDefault();
    run();
  });
}
