// Starts the page: unpacks the index and the core, draws, and asks the question of the link or the first example.
import './styles/index.css';
import { render } from 'preact';
import { App } from './app';
import { block, packedBlock } from './core/bytes';
import { askText, start } from './core/client';
import { openLink, setTheme } from './state/actions';
import { loadIndex } from './state/catalog';
import { listenToKeys } from './state/keys';
import { change } from './state/planner';
import { PRESETS } from './state/presets';
import { get, set } from './state/store';
import { contract } from './state/traffic';

/** What takes long (cards, models) must not stand before the next verdict. */
const script = (request: { ask?: string }) => askText(request.ask === 'gpus' || request.ask === 'models' ? 'search' : 'verdict', request);

async function main(): Promise<void> {
  performance.mark('vramwise:script');
  // A worker unpacks and compiles the core while the form is drawn.
  start(packedBlock('core-data'), document.getElementById('worker-text')?.textContent ?? '');
  set({ theme: (document.documentElement.dataset.choice as 'system' | 'light' | 'dark') ?? 'system' });
  const index = await block('index-data');
  loadIndex(new TextDecoder().decode(index));
  const first = PRESETS[0]!.request;
  if (location.hash === '#empty') set({ request: undefined });
  else if (!(await openLink(location.hash))) change(first);
  const root = document.getElementById('app')!;
  root.textContent = '';
  render(<App />, root);
  performance.mark('vramwise:drawn');
  // For scripts and for the console: the same core, asked directly.
  Object.assign(globalThis, {
    vramwise: { ask: async (request: object) => JSON.parse(await script(request)) as unknown, askText: script, state: get, request: () => { const { request, recording } = get(); return request && contract(request, recording?.text); } },
  });
  listenToKeys();
  addEventListener('hashchange', () => void openLink(location.hash));
  matchMedia('(prefers-color-scheme:dark)').addEventListener('change', () => get().theme === 'system' && setTheme('system'));
}

main().catch((error: unknown) => {
  const root = document.getElementById('app')!;
  root.textContent = `Vramwise could not start: ${String(error)}. It needs WebAssembly and DecompressionStream (Chromium 103, Firefox 113, Safari 16.4 or later).`;
});
