// The panels below the verdict: what they show is the command line's answer, they are used with the keys, and axe
// finds nothing in them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { violations } from './support/axe.mjs';
import { answered, close, errors, open, requests, root, settled, state } from './support/browser.mjs';
import { answer } from './support/native.mjs';

after(async () => {
  await close();
  assert.deepEqual(requests, []);
  assert.deepEqual(errors, []);
});

const link = (value) => '#v1.' + deflateRawSync(JSON.stringify(value)).toString('base64url');
const question = (ref, engine, gpu, sequence_tokens, concurrency, more = {}) => ({
  schema_version: 1, model: { ref }, ...more, engine: { name: engine }, hardware: { gpu, count: 1 }, workload: { sequence_tokens, concurrency },
});
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const grouped = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ',');

test('each change says how to check it, what it reaches, and nothing of a server that does not start', async () => {
  const tab = await open();
  const { levers } = answer((await state(tab)).request);
  await tab.locator('.morelev').focus();
  await tab.keyboard.press('Enter');
  assert.equal(await tab.locator('.lev').count(), levers.length);
  const shown = await tab.locator('.lev').evaluateAll((rows) => rows.map((row) => ({
    change: row.querySelector('.c b').textContent, check: row.querySelector('.check')?.textContent, then: row.querySelector('.o small').textContent,
  })));
  const told = (lever) => lever.starts && (lever.outcome === 'fits' || lever.outcome === 'tight' || lever.users > 0);
  levers.forEach((lever, i) => {
    assert.equal(shown[i].change, capital(lever.change));
    assert.equal(shown[i].check, told(lever) ? `To check: ${lever.check.text}.` : undefined, lever.change);
    assert.equal(shown[i].then.includes('less than asked'), lever.outcome === 'fits' && !lever.reaches, lever.change);
    if (lever.users) assert.ok(shown[i].then.includes(`${grouped(lever.users)} user`), shown[i].then);
  });
  assert.ok(levers.some(told) && levers.some((lever) => !told(lever)), 'both kinds are there');
  assert.deepEqual(await violations(tab, ['#levers']), []);
  await tab.context().close();
});

test('where no change holds it, the smallest cards do: named, taken with the keys, and taken back', async () => {
  const asked = question('meta-llama/Llama-3.1-405B', 'vllm', 'rtx-4090', 8192, 4);
  const tab = await open({ hash: link(asked) });
  const { smallest } = answer(asked);
  const next = await tab.locator('.next').innerText();
  assert.match(next, /^No change makes it fit here\. The smallest cards that hold it: /);
  assert.ok(next.includes(`${smallest.count} × B300`) && next.includes(`(${smallest.layout})`), next);
  assert.deepEqual(await violations(tab, ['.hero']), []);
  await tab.locator('.next button').focus();
  await tab.keyboard.press('Enter');
  await answered(tab);
  const { request, plan } = await state(tab);
  assert.equal(request.hardware.gpu, smallest.gpu);
  assert.equal(request.hardware.count, smallest.count);
  assert.deepEqual(request.engine.options, smallest.options);
  assert.equal(plan.outcome, answer(request).outcome);
  assert.ok(plan.outcome === 'fits' || plan.outcome === 'tight', plan.outcome);
  await tab.locator('#toast button').focus();
  await tab.keyboard.press('Enter');
  await answered(tab);
  const back = (await state(tab)).request;
  assert.deepEqual([back.hardware, back.engine], [asked.hardware, asked.engine]);
  await tab.context().close();
});

/** Until the whole run of a question is answered: another one than was shown before `change`. */
async function simulated(tab, change = () => {}) {
  await tab.evaluate(() => { globalThis.before = globalThis.vramwise?.state().load?.answered; });
  await change();
  await tab.waitForFunction(() => {
    const { load, asked, answers } = globalThis.vramwise.state();
    return asked === answers && load?.answered && load.answered !== globalThis.before && !load.busy && !load.first;
  }, undefined, { timeout: 240_000 });
}
/** Types a value and leaves it with Enter. */
const type = (tab, id, value) => async () => {
  await tab.locator(id).fill(value);
  await tab.locator(id).press('Enter');
};
const contract = (tab) => tab.evaluate(() => globalThis.vramwise.request());
const traffic = { lengths: { kind: 'preset', name: 'chat' }, arrivals: { kind: 'poisson', rate_per_second: 8 } };

test('servers behind a router: three take the load, in turns or to the idlest; half-widths stand beside the figures', async () => {
  const asked = question('meta-llama/Llama-3.1-8B', 'vllm', 'h100-sxm', 8192, 50);
  const tab = await open({ hash: link({ ...asked, workload: { ...asked.workload, ...traffic } }), ready: false });
  await simulated(tab);
  // What the repetitions differ by stands beside the figure.
  const alone = answer({ ...(await contract(tab)), ask: 'simulate' }).simulate;
  assert.ok(alone.throughput.half_width > 0 && alone.ttft_seconds.p99_half_width > 0);
  const halves = (id) => tab.locator(id).innerText().then((text) => / ± ([\d.,]+) ?(µs|ms|s|requests)/.exec(text));
  const [, wait, unit] = await halves('#ttft');
  const seconds = Number(wait) * { µs: 1e-6, ms: 1e-3, s: 1 }[unit];
  assert.ok(Math.abs(seconds / alone.ttft_seconds.p99_half_width - 1) < 0.1, `${wait} ${unit} of ${alone.ttft_seconds.p99_half_width} s`);
  const [, rate] = await halves('#throughput');
  assert.ok(Math.abs(Number(rate) / alone.throughput.half_width - 1) < 0.1, `${rate} of ${alone.throughput.half_width}`);
  await tab.locator('#traffic summary').focus();
  await tab.keyboard.press('Enter');
  assert.equal(await tab.locator('#router').count(), 0, 'one server has no router');
  await simulated(tab, type(tab, '#replicas', '3'));
  await tab.locator('#router [aria-checked=true]').focus();
  await simulated(tab, () => tab.keyboard.press('ArrowRight'));
  const request = await contract(tab);
  assert.equal(request.router, 'round_robin');
  assert.equal(request.replicas, 3);
  const { simulate: native } = answer({ ...request, ask: 'simulate' });
  assert.deepEqual(await tab.evaluate(() => globalThis.vramwise.state().load.answered), native);
  assert.equal(native.servers.count, 3);
  assert.match(await tab.locator('#users-p99').innerText(), /on 3 servers/);
  assert.match(await tab.locator('#traffic-answer').innerText(), /3 servers; requests go round in turns/);
  assert.match(await tab.locator('#traffic-answer').innerText(), new RegExp(`${native.run.replications} repetitions until ± [\\d.]+ %`));
  assert.deepEqual(await violations(tab, ['#traffic', '#traffic-answer']), []);
  await type(tab, '#replicas', '')();
  await answered(tab);
  const one = await contract(tab);
  assert.deepEqual([one.replicas, one.router], [undefined, undefined], 'one server again, without a router');
  await tab.context().close();
});

test('the share of drafts that is kept: asked for where the engine drafts, and counted', async () => {
  const asked = question('meta-llama/Llama-3.1-8B', 'vllm', 'h100-sxm', 8192, 50);
  const plain = await open({ hash: link({ ...asked, workload: { ...asked.workload, ...traffic } }), ready: false });
  await simulated(plain);
  await plain.locator('#traffic summary').click();
  assert.equal(await plain.locator('#acceptance').count(), 0, 'nothing is drafted');
  await plain.context().close();
  const drafting = { ...asked, engine: { name: 'vllm', options: { speculative_config: { method: 'ngram', num_speculative_tokens: 4 } } } };
  const tab = await open({ hash: link({ ...drafting, workload: { ...asked.workload, ...traffic } }), ready: false });
  await simulated(tab);
  await tab.locator('#traffic summary').click();
  await simulated(tab, type(tab, '#acceptance', '70'));
  const request = await contract(tab);
  assert.equal(request.acceptance, 0.7);
  assert.deepEqual(await tab.evaluate(() => globalThis.vramwise.state().load.answered), answer({ ...request, ask: 'simulate' }).simulate);
  assert.deepEqual(await violations(tab, ['#traffic']), []);
  await tab.context().close();
});

test('a log beside the plan: bars in proportion, on one scale; closed with the keys', async () => {
  const tab = await open();
  const log = readFileSync(join(root, 'tests/data/logs/vllm-0.11-llama-8b.log'), 'utf8');
  await tab.locator('#paste-open').focus();
  await tab.keyboard.press('Enter');
  await tab.locator('#paste').fill(log);
  await tab.waitForSelector('#rows');
  const { hardware } = (await state(tab)).request;
  const rows = answer({ ask: 'verify', log, hardware }).verify.rows;
  const most = Math.max(...rows.filter((row) => row.unit === 'bytes').map((row) => Math.max(row.predicted, row.high ?? 0, row.logged)));
  const bars = await tab.locator('#rows tbody tr').evaluateAll((list) => list.map((row) =>
    [...row.querySelectorAll('td.pic rect')].map((rect) => Number(rect.getAttribute('width')))));
  const end = 217; // of 220 pixels, less the line around
  rows.forEach((row, i) => {
    if (row.unit !== 'bytes') return assert.deepEqual(bars[i], [], row.line);
    // What capturing graphs gives back is less than nothing: a bar of no length.
    for (const [k, bytes] of [row.predicted, row.logged].entries()) assert.ok(Math.abs(bars[i][k] - 1 - (Math.max(bytes, 0) / most) * end) < 0.2, `${row.line}: ${bars[i][k]}`);
  });
  assert.ok(bars.filter((pair) => pair.length === 2).length >= 3);
  await settled(tab);
  await tab.locator('#verified [aria-label^=Close]').press('Enter');
  await tab.waitForFunction(() => !document.querySelector('#verified'));
  await tab.context().close();
});

test('exports: the menu is used with the keys, and each file holds the numbers of the answer', async () => {
  const tab = await open();
  const { request } = await state(tab);
  const native = answer(request);
  const take = async (downs) => {
    await tab.locator('#export').focus();
    await tab.keyboard.press('Enter');
    await tab.waitForFunction(() => document.activeElement.dataset.choice === 'request');
    for (let i = 0; i < downs; ++i) await tab.keyboard.press('ArrowDown');
    const [download] = await Promise.all([tab.waitForEvent('download'), tab.keyboard.press('Enter')]);
    const chunks = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  };
  const gib = (bytes) => (bytes / 2 ** 30).toFixed(2);
  const csv = (await take(3)).trim().split('\r\n');
  assert.equal(csv.length, native.ledger.length + 1);
  native.ledger.forEach((row, i) => assert.ok(csv[i + 1].startsWith(`${row.device},${row.component},`) && csv[i + 1].includes(`,${row.bytes},`), csv[i + 1]));
  const report = await take(4);
  const need = native.readings.need;
  for (const [name, bytes] of [['weights', need.weights_bytes], ['activations', need.activations_bytes], ['runtime', need.runtime_bytes], ['KV cache', need.kv_cache_bytes]]) {
    assert.ok(report.includes(`| ${name} | ${gib(bytes)} |`), name);
  }
  for (const lever of native.levers) assert.ok(report.includes(`| ${capital(lever.change).replaceAll('_', '\\_')} |`), lever.change);
  assert.ok(report.includes(native.command));
  const svg = await take(5);
  for (const text of ['Weights', 'KV cache', (need.weights_bytes / 2 ** 30).toFixed(1)]) assert.ok(svg.includes(text), text);
  await tab.locator('#export').focus();
  await tab.keyboard.press('Enter');
  await tab.waitForFunction(() => document.activeElement.dataset.choice === 'request');
  await tab.keyboard.press('Escape');
  await tab.waitForFunction(() => document.activeElement.id === 'export');
  await tab.context().close();
});
