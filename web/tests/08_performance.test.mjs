// How long a person waits, held to web/budgets.json; the bars of the design are written beside them.
// build/web/performance.json is what `./dev bench --write` puts into docs/performance.md.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { close, errors, open, requests, root, settled } from './support/browser.mjs';

/** goal: the bar of the design. most: what is held, of what the page reaches on the machine below and a margin. */
const budgets = JSON.parse(readFileSync(join(root, 'web/budgets.json'), 'utf8'));
/** Milliseconds that the two yardsticks take on the machine the budgets are of, with nothing else to do. */
const QUIET = { opening: 700, asking: 6 };

// A page of the same build with none of ours in it: as much text to read, a worker that starts and works, and the
// main thread that works beside it.
const yardstick = join(root, 'build/web/yardstick.html');
const WORK = 'let x = 1; for (let i = 0; i < 16e6; ++i) x = Math.imul(x ^ (x >>> 13), 0x5bd1e995) | 1;';
writeFileSync(yardstick, `<!doctype html><title>yardstick</title><script type="text/plain">${'A'.repeat(2 << 20)}</script><script>
  const worker = new Worker(URL.createObjectURL(new Blob(['${WORK} postMessage(x)'])));
  worker.onmessage = () => performance.mark('vramwise:verdict');
  ${WORK}
</script>`);

/** The fastest run is judged, that others disturb least, and always: a budget grows by how slow this machine is at
 *  this moment, told by yardsticks taken in turn with what is measured, and by nothing else. */
const judge = (row, kind, yardsticks) => {
  const slow = Math.max(1, [...yardsticks].sort((a, b) => a - b)[yardsticks.length >> 1] / QUIET[kind]);
  row.slow = slow;
  assert.ok(row.fastest <= budgets[row.name].most * slow, `${row.name}: ${row.fastest.toFixed(1)} of ${budgets[row.name].most} ms, on a machine ${slow.toFixed(1)} times as slow`);
};
const rows = [];
const parts = join(root, 'build/web/parts');

after(async () => {
  await close();
  writeFileSync(join(root, 'build/web/performance.json'), JSON.stringify({ date: new Date().toISOString().slice(0, 10), load: loadavg()[0], rows }, null, 1));
  for (const row of rows) console.log(`${row.name}: ${row.median.toFixed(1)} ${row.unit} (fastest ${row.fastest.toFixed(1)})${row.bar ? `, goal ${row.bar}, held to ${row.most}` : ''}${row.slow ? ` × ${row.slow.toFixed(1)}` : ''}`);
  assert.deepEqual(requests, []);
  assert.deepEqual(errors, []);
});

function note(name, times, unit = 'ms') {
  const sorted = [...times].sort((a, b) => a - b);
  const scale = unit === 'KiB' ? 1024 : 1;
  const held = budgets[name.replace(/, gzipped$/, '')];
  const row = { name, median: sorted[sorted.length >> 1], fastest: sorted[0], unit, ...(held && { bar: held.goal / scale, most: held.most / scale }) };
  rows.push(row);
  return row;
}

// Where the time of opening goes, each from the start of the navigation.
const MARKS = [['script', 'the page is read, its script runs'], ['drawn', 'the form can be used'], ['compiled', 'the core is unpacked and compiled']];

test('usable after opening', async () => {
  const times = [], painted = [], core = [], yardsticks = [], marks = MARKS.map(() => []);
  for (let i = 0; i < 7; ++i) {
    const tab = await open({ ready: false });
    await tab.waitForSelector('.hero h1');
    const at = (name) => tab.evaluate((name) => performance.getEntriesByName(`vramwise:${name}`)[0].startTime, name);
    times.push(await at('verdict'));
    await tab.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0);
    painted.push(await tab.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime));
    await tab.waitForFunction(() => performance.getEntriesByName('vramwise:core').length > 0);
    core.push(await at('core'));
    for (const [k, [name]] of MARKS.entries()) marks[k].push(await at(name));
    await tab.context().close();
    const other = await open({ ready: false, from: pathToFileURL(yardstick).href });
    await other.waitForFunction(() => performance.getEntriesByName('vramwise:verdict').length > 0);
    yardsticks.push(await other.evaluate(() => performance.getEntriesByName('vramwise:verdict')[0].startTime));
    await other.context().close();
  }
  note('yardstick of opening', yardsticks);
  MARKS.forEach(([, text], k) => note(`open: ${text}`, marks[k]));
  note('open: form and verdict are painted', painted);
  // The first verdict comes with the page (the build asked the core); from the second on its own core answers.
  judge(note('open from disk to the first verdict', times), 'opening', yardsticks);
  judge(note('open from disk to the first answer of its core', core), 'opening', yardsticks);
});

/** Moves the context slider one step at a time, to a value never asked for before (answers are kept); times from
 *  the event until the new answer is in the document. */
const slide = (tab, steps, from) => tab.evaluate(async ([steps, from]) => {
  const slider = document.querySelector('#context');
  const state = () => globalThis.vramwise.state();
  const until = (test) => new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => (test() ? resolve() : channel.port2.postMessage(0));
    channel.port2.postMessage(0);
  });
  const verdicts = [], pictures = [], yardsticks = [];
  const worker = new Worker(URL.createObjectURL(new Blob(['onmessage = () => { let x = 1; for (let i = 0; i < 3e6; ++i) x = Math.imul(x ^ (x >>> 13), 0x5bd1e995) | 1; postMessage(x); }'])));
  for (let i = 0; i < steps; ++i) {
    const start = performance.now();
    slider.value = String(from + i);
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    const tokens = state().request.workload.sequence_tokens;
    const text = String(tokens).replace(/\B(?=(\d{3})+$)/g, ',');
    await until(() => state().answers === state().asked && document.querySelector('.say').textContent.includes(text));
    verdicts.push(performance.now() - start);
    await until(() => state().of.pictures === state().asked);
    await new Promise((resolve) => setTimeout(resolve));
    pictures.push(performance.now() - start);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const asked = performance.now();
    await new Promise((resolve) => { worker.onmessage = resolve; worker.postMessage(0); });
    yardsticks.push(performance.now() - asked);
  }
  worker.terminate();
  return { verdicts, pictures, yardsticks };
}, [steps, from]);

for (const [engine, choice] of [['vLLM', '50users'], ['llama.cpp', '3090']]) {
  test(`a slider moves, ${engine}`, async () => {
    const tab = await open({ ready: false });
    await tab.waitForSelector('.hero h1');
    await tab.locator('#examples').click();
    await tab.locator(`[data-choice="${choice}"]`).click();
    await settled(tab, { cards: true });
    await slide(tab, 8, 10); // warm
    await settled(tab, { cards: true });
    const { verdicts, pictures, yardsticks } = await slide(tab, 30, 18);
    note(`yardstick of asking, ${engine}`, yardsticks);
    const quick = note(`slider to verdict and bar, ${engine}`, verdicts);
    const drawn = note(`slider to curve and map, ${engine}`, pictures);
    judge(quick, 'asking', yardsticks);
    judge(drawn, 'asking', yardsticks);
    await tab.context().close();
  });
}

test('the page is small', () => {
  const { sizes } = JSON.parse(readFileSync(join(parts, 'sizes.json'), 'utf8'));
  for (const [name, bytes] of Object.entries(sizes)) note(`${name}, gzipped`, [bytes / 1024], 'KiB');
  for (const [name, bytes] of Object.entries(sizes)) assert.ok(bytes <= budgets[name].most, `${name}: ${bytes} of ${budgets[name].most} bytes`);
});
