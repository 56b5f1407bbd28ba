// Starts the page: unpacks the index and the core, draws, and asks the question of the link or the first example.
import './styles/index.css';
import { render } from 'preact';
import { App } from './app';
import { block } from './core/bytes';
import { askText, giveCore, giveWorker, start } from './core/client';
import { openLink, setTheme } from './state/actions';
import { followAddress } from './state/address';
import { loadIndex } from './state/catalog';
import { listenToKeys } from './state/keys';
import { change } from './state/planner';
import { PRESETS } from './state/presets';
import { get, set } from './state/store';
import { contract } from './state/traffic';

/** What takes long (cards, models) must not stand before the next verdict. */
const script = (request: { ask?: string }) => askText(request.ask === 'gpus' || request.ask === 'models' ? 'search' : 'verdict', request);

/** Until the browser has read the whole page. */
const read = () => new Promise<void>((resolve) => {
  if (document.readyState !== 'loading') resolve();
  else document.addEventListener('DOMContentLoaded', () => resolve());
});

async function main(): Promise<void> {
  performance.mark('vramwise:script');
  set({ theme: (document.documentElement.dataset.choice as 'system' | 'light' | 'dark') ?? 'system' });
  giveWorker(`${block('unpack-text')}\n${block('worker-text')}`);
  loadIndex(block('index-data'));
  followAddress(openLink);
  const first = PRESETS[0]!.request;
  if (location.hash === '#empty') set({ request: undefined });
  // The build asked the core about the first example: its answer is drawn with the form.
  else if (!(await openLink(location.hash))) await change(first);
  const root = document.getElementById('app')!;
  root.textContent = '';
  render(<App />, root);
  performance.mark('vramwise:drawn');
  // The core stands behind this script: the form is drawn before the browser has read it, with the answer that the
  // build made of the first example. A worker starts, while that is painted, and unpacks and compiles it.
  start();
  const core = read().then(() => giveCore(block('core-data')));
  // For scripts and for the console: the same core, asked directly.
  Object.assign(globalThis, {
    vramwise: { ask: async (request: object) => JSON.parse(await script(request)) as unknown, askText: script, state: get, request: () => { const { request, recording } = get(); return request && contract(request, recording?.text); } },
  });
  listenToKeys();
  matchMedia('(prefers-color-scheme:dark)').addEventListener('change', () => get().theme === 'system' && setTheme('system'));
  await core;
}

main().catch((error: unknown) => {
  const root = document.getElementById('app')!;
  root.textContent = `Vramwise could not start: ${String(error)}. It needs WebAssembly and DecompressionStream (Chromium 103, Firefox 113, Safari 16.4 or later).`;
});
