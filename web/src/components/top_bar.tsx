import { copyLink, nextTheme } from '../state/actions';
import { exportChoices } from '../state/exports';
import { change } from '../state/planner';
import { PRESETS } from '../state/presets';
import { use } from '../state/store';
import { capital } from '../text/format';
import { Icon, Logo } from './icons';
import { Menu } from './menu';

export function TopBar() {
  const pinned = use((state) => state.pins.length);
  const theme = use((state) => state.theme);
  const examples = PRESETS.map((preset) => ({
    id: preset.id, title: preset.title, note: preset.note,
    run: () => {
      change(preset.request);
      scrollTo(0, 0);
    },
  }));
  return (
    <header class="top">
      <a class="brand" href="#out"><Logo /><span>Vramwise</span></a>
      <span class="note">Runs in this page. Sends nothing.</span>
      <span class="sp" />
      <Menu id="examples" label="Examples" icon={<Icon name="list" />} choices={examples} />
      <button class="btn quiet" id="pinned" onClick={() => document.getElementById('compare')?.scrollIntoView({ block: 'start' })}>
        <Icon name="pinned" /><span class="tx">Pinned</span> <span class="count">{pinned}</span>
        <span class="sr">pinned plans</span>
      </button>
      <Menu id="export" label="Export" icon={<Icon name="save" />} choices={exportChoices()} />
      <button class="btn quiet" id="theme" aria-keyshortcuts="t" aria-label={`Theme: ${theme}`} onClick={nextTheme}>
        <svg viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="1.5" /><path d="M8 2a6 6 0 0 1 0 12z" fill="currentColor" /></svg>
        <span class="tx">{capital(theme)}</span>
      </button>
      <button class="btn ink" id="share" aria-keyshortcuts="s" onClick={() => void copyLink()}>
        <Icon name="link" /><span class="tx">Copy link</span><span class="sr onlyicon">Copy link</span>
      </button>
    </header>
  );
}
