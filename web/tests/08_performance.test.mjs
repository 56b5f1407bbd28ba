// How long a person waits. Times are of this machine and this moment: the bars of the design are written beside
// them, and only what is far beyond them fails (a busy machine is not a slow page). build/web/performance.json
// is what `./dev bench --write` puts into docs/performance.md.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { close, errors, open, requests, root, settled } from './support/browser.mjs';

const SLACK = 8;
/** With more to do than cores there are, times say nothing about the page: written down, not judged. */
const judge = (row, times) => {
  if (loadavg()[0] <= cpus().length * 1.5) assert.ok(row.fastest < row.bar * SLACK, times.map(Math.round).join(' '));
};
const rows = [];
const parts = join(root, 'build/web/parts');

after(async () => {
  await close();
  writeFileSync(join(root, 'build/web/performance.json'), JSON.stringify({ date: new Date().toISOString().slice(0, 10), load: loadavg()[0], rows }, null, 1));
  for (const row of rows) console.log(`${row.name}: ${row.median.toFixed(1)} ${row.unit} (fastest ${row.fastest.toFixed(1)}), bar ${row.bar}`);
  assert.deepEqual(requests, []);
  assert.deepEqual(errors, []);
});

function note(name, times, bar, unit = 'ms') {
  const sorted = [...times].sort((a, b) => a - b);
  const row = { name, median: sorted[sorted.length >> 1], fastest: sorted[0], bar, unit };
  rows.push(row);
  return row;
}

test('usable after opening', async () => {
  const times = [];
  for (let i = 0; i < 7; ++i) {
    const tab = await open({ ready: false });
    await tab.waitForSelector('.hero h1');
    times.push(await tab.evaluate(() => performance.getEntriesByName('vramwise:verdict')[0].startTime));
    await tab.context().close();
  }
  judge(note('open from disk to the first verdict', times, 150), times);
});

/** Moves the context slider one step at a time; times from the event until the new answer is in the document. */
const slide = (tab, steps) => tab.evaluate(async (steps) => {
  const slider = document.querySelector('#context');
  const state = () => globalThis.vramwise.state();
  const until = (test) => new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => (test() ? resolve() : channel.port2.postMessage(0));
    channel.port2.postMessage(0);
  });
  const verdicts = [], pictures = [];
  for (let i = 0; i < steps; ++i) {
    const start = performance.now();
    slider.value = String(Number(slider.value) + (i % 12 < 6 ? -1 : 1));
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    const tokens = state().request.workload.sequence_tokens;
    const text = String(tokens).replace(/\B(?=(\d{3})+$)/g, ',');
    await until(() => state().answers === state().asked && document.querySelector('.say').textContent.includes(text));
    verdicts.push(performance.now() - start);
    await until(() => state().of.pictures === state().asked);
    await new Promise((resolve) => setTimeout(resolve));
    pictures.push(performance.now() - start);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { verdicts, pictures };
}, steps);

for (const [engine, choice] of [['vLLM', '50users'], ['llama.cpp', '3090']]) {
  test(`a slider moves, ${engine}`, async () => {
    const tab = await open({ ready: false });
    await tab.waitForSelector('.hero h1');
    await tab.locator('#examples').click();
    await tab.locator(`[data-choice="${choice}"]`).click();
    await settled(tab, { cards: true });
    await slide(tab, 12); // warm
    await settled(tab, { cards: true });
    const { verdicts, pictures } = await slide(tab, 40);
    judge(note(`slider to verdict and bar, ${engine}`, verdicts, 16), verdicts);
    judge(note(`slider to curve and map, ${engine}`, pictures, 100), pictures);
    await tab.context().close();
  });
}

test('the page is small', () => {
  const { sizes, budgets } = JSON.parse(readFileSync(join(parts, 'sizes.json'), 'utf8'));
  for (const [name, bytes] of Object.entries(sizes)) {
    note(`${name}, gzipped`, [bytes / 1024], budgets[name] / 1024, 'KiB');
    // The module still carries what only the command line needs; it may not grow beyond this meanwhile.
    const most = name === 'core' || name === 'page' ? 2 * 2 ** 20 : budgets[name];
    assert.ok(bytes <= most, `${name}: ${bytes} of ${most} bytes`);
  }
});
