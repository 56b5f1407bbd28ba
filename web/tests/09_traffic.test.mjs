// Real traffic: the page's simulation is the command line's, recordings come in by drop, and a newer question
// ends a run at once.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { answered, close, errors, open, requests } from './support/browser.mjs';
import { answer } from './support/native.mjs';

after(async () => {
  await close();
  assert.deepEqual(requests, []);
  assert.deepEqual(errors, []);
});

const begin = async () => {
  const tab = await open({ ready: false });
  await tab.waitForSelector('.hero h1');
  await tab.locator('#examples').click();
  await tab.locator('[data-choice="50users"]').click();
  await answered(tab);
  return tab;
};

/** Until the whole run is answered. */
const simulated = (tab) => tab.waitForFunction(() => {
  const { load, asked, answers } = globalThis.vramwise.state();
  return asked === answers && load && !load.busy && (load.error || load.answered);
}, undefined, { timeout: 240_000 });
const load = (tab) => tab.evaluate(() => globalThis.vramwise.state().load);
const contract = (tab) => tab.evaluate(() => globalThis.vramwise.request());

test('lengths of a preset, at a rate: the figures are the command line’s', async () => {
  const tab = await begin();
  await tab.locator('[data-workload=chat]').click();
  await tab.locator('#arrivals [data-v=rate]').click();
  await tab.locator('#slo-ttft').fill('');
  await tab.locator('#slo-tpot').fill('');
  await tab.locator('#slo-tpot').press('Enter');
  await tab.locator('#rate').fill('5');
  await tab.locator('#rate').press('Enter');
  await simulated(tab);
  const request = await contract(tab);
  assert.deepEqual(request.workload, { sequence_tokens: 8192, concurrency: 50, lengths: { kind: 'preset', name: 'chat' }, arrivals: { kind: 'poisson', rate_per_second: 5 } });
  assert.equal(request.slo, undefined);
  const native = answer({ ...request, ask: 'simulate' });
  assert.deepEqual((await load(tab)).answered, native.simulate);
  const shown = (id) => tab.locator(id).innerText();
  const number = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ',');
  assert.ok((await shown('#users-p99')).startsWith(number(native.simulate.users.p99)));
  assert.ok((await shown('#users-p99')).includes(`${number(native.simulate.users.p95)} at p95, ${number(native.simulate.users.p50)} at p50`));
  assert.ok((await shown('#users-worst')).startsWith(number(native.simulate.users.worst_case)));
  assert.ok((await shown('#cost')).includes(`$${native.simulate.cost.usd_per_million_output_tokens.toFixed(2)}`));
  assert.equal(await tab.locator('.traffic-band').count(), 1, 'what the load holds is drawn on the curve');
  // The link carries all of it.
  const hash = await tab.evaluate(() => new Promise((resolve) => setTimeout(() => resolve(location.hash), 400)));
  const other = await open({ hash, ready: false });
  await other.waitForSelector('.hero h1');
  assert.deepEqual(await contract(other), request);
  await other.context().close();
  await tab.context().close();
});

test('a newer question ends a run, and the plan never waits for it', async () => {
  const tab = await begin();
  await tab.locator('[data-workload=chat]').click(); // with a promise: a search of many runs
  await tab.waitForFunction(() => globalThis.vramwise.state().load?.answered);
  assert.equal((await load(tab)).first, true, 'a first look comes before the whole run');
  await tab.waitForTimeout(300);
  const waited = await tab.evaluate(async () => {
    const slider = document.querySelector('#context');
    const started = performance.now();
    slider.value = String(Number(slider.value) - 3);
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    const state = () => globalThis.vramwise.state();
    while (state().answers !== state().asked) await new Promise((resolve) => setTimeout(resolve));
    return performance.now() - started;
  });
  assert.ok(waited < 2000, `${waited} ms for a verdict beside a running simulation`);
  await tab.locator('#traffic-answer .end .btn', { hasText: 'Leave out' }).click();
  await answered(tab);
  assert.equal((await contract(tab)).workload.lengths, undefined);
  await tab.waitForFunction(() => globalThis.vramwise.state().load === undefined);
  await tab.context().close();
});

const csv = 'arrival_seconds,prompt_tokens,output_tokens\n' +
  Array.from({ length: 400 }, (_, i) => `${(i * 0.4).toFixed(1)},${200 + ((i * 37) % 900)},${20 + ((i * 13) % 150)}`).join('\n') + '\n';

test('a recording is dropped, played as recorded, and named in a link without its text', async () => {
  const tab = await begin();
  await tab.locator('#file').setInputFiles([{ name: 'mine.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) }]);
  await tab.waitForFunction(() => globalThis.vramwise.state().request.traffic?.trace);
  await tab.locator('#arrivals [data-v=trace]').click();
  await tab.locator('#slo-ttft').fill('');
  await tab.locator('#slo-tpot').fill('');
  await tab.locator('#slo-tpot').press('Enter');
  await simulated(tab);
  const request = await contract(tab);
  assert.deepEqual(request.workload.trace, { name: 'mine.csv', text: csv });
  assert.deepEqual((await load(tab)).answered, answer({ ...request, ask: 'simulate' }).simulate);
  const hash = await tab.evaluate(() => new Promise((resolve) => setTimeout(() => resolve(location.hash), 400)));
  assert.ok(hash.length < 2000);
  const other = await open({ hash, ready: false });
  await other.waitForSelector('#traffic-error');
  assert.match(await other.locator('#traffic-error').innerText(), /mine\.csv is not part of a link[\s\S]*drop the file/);
  await other.context().close();
  await tab.context().close();
});

test('rubbish for a recording is named with its place; foreign columns can be named', async () => {
  const tab = await begin();
  const drop = async (name, text) => {
    await tab.locator('#file').setInputFiles([{ name, mimeType: '', buffer: Buffer.from(text) }]);
    await tab.waitForFunction((name) => globalThis.vramwise.state().recording?.name === name, name);
    await simulated(tab);
  };
  // The error of the recording before stands until the new one was read.
  const told = async (pattern) => {
    await tab.waitForFunction(([source]) => new RegExp(source).test(document.querySelector('#traffic-error')?.innerText ?? ''), [pattern.source]);
  };
  await drop('broken.csv', 'arrival_seconds,prompt_tokens,output_tokens\n0,10,20\n1,many,20\n');
  await told(/'many', not a number of tokens\s+--> broken\.csv:3:3/);
  await drop('foreign.csv', `t,in,out\n${'0,100,20\n1,200,30\n'.repeat(100)}`);
  await told(/the columns are: t, in, out/);
  await tab.locator('#column-prompt').fill('in');
  await tab.locator('#column-output').fill('out');
  await tab.locator('#column-output').press('Enter');
  await tab.waitForFunction(() => globalThis.vramwise.state().load?.answered && !globalThis.vramwise.state().load.error);
  await simulated(tab);
  assert.equal((await load(tab)).answered.lengths.requests, 200);
  await drop('<img src=x onerror=alert(1)>.jsonl', '\u0000\u0001 not a recording');
  await told(/\S/);
  assert.equal(await tab.locator('#traffic-error img').count(), 0);
  await tab.context().close();
});

test('more than it can serve is said, and never shown as zero milliseconds', async () => {
  const tab = await begin();
  await tab.locator('[data-workload=chat]').click();
  await tab.locator('#arrivals [data-v=rate]').click();
  await tab.locator('#slo-ttft').fill('');
  await tab.locator('#slo-tpot').fill('');
  await tab.locator('#slo-tpot').press('Enter');
  await tab.locator('#rate').fill('500');
  await tab.locator('#rate').press('Enter');
  await simulated(tab);
  assert.match(await tab.locator('#overload').innerText(), /Overloaded: 500 requests\/s arrive and 17\.\d are the most/);
  assert.doesNotMatch(await tab.locator('#traffic-answer').innerText(), /0\.0 ms/);
  await tab.context().close();
});
