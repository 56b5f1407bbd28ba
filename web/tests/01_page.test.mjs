// The page opens from disk, answers as the command line does, and asks nobody for anything.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, test } from 'node:test';
import { batch } from './support/native.mjs';
import { binary, close, errors, open, requests, state } from './support/browser.mjs';

after(async () => {
  await close();
  assert.deepEqual(requests, [], 'requests left the page');
  assert.deepEqual(errors, [], 'the page printed errors');
});

/** The command line's answer to the same request, parsed. */
function native(request) {
  const run = spawnSync(binary, ['plan', '--request', '-', '--json'], { input: JSON.stringify(request), encoding: 'utf8', maxBuffer: 2 ** 28 });
  assert.ifError(run.error);
  return JSON.parse(run.stdout);
}

test('opens from file:// with the first example', async () => {
  const tab = await open();
  assert.match(tab.url(), /^file:/);
  const { request, plan } = await state(tab);
  assert.equal(request.model.ref, 'meta-llama/Llama-3.1-70B');
  assert.equal(await tab.locator('.vword').innerText(), 'Does not fit');
  const expected = native(request);
  assert.equal(plan.outcome, expected.outcome);
  assert.deepEqual(await tab.evaluate((request) => globalThis.vramwise.ask(request), request), expected);
  // What is drawn is what was answered.
  const total = (expected.readings.need.total_bytes / 2 ** 30).toFixed(1);
  assert.equal(await tab.locator('.part').last().locator('.n').innerText(), `${total}GiB`);
  await tab.context().close();
});

test('the answers it comes with are the core\'s, to the byte', async () => {
  const tab = await open();
  const { answers } = await tab.evaluate(() => JSON.parse(document.getElementById('index-data').textContent));
  assert.equal(answers.length, 2, 'plan and facts of the first example');
  assert.deepEqual(answers.map(([question]) => question), await tab.evaluate(() => {
    const { schema_version, ...request } = globalThis.vramwise.request();
    return [JSON.stringify({ schema_version, ...request, levers: false }), JSON.stringify({ ask: 'inspect', model: request.model })];
  }), 'they are what the first example asks');
  assert.deepEqual(batch(answers.map(([question]) => JSON.parse(question))), answers.map(([, answer]) => answer), 'the command line says the same');
  // Keys in another order are another text, which the page does not know: the core in it answers.
  const fresh = await tab.evaluate((answers) => Promise.all(answers.map(([question]) =>
    globalThis.vramwise.askText(Object.fromEntries(Object.entries(JSON.parse(question)).reverse())))), answers);
  assert.deepEqual(fresh, answers.map(([, answer]) => answer), 'the core of the page says the same');
  await tab.context().close();
});

test('workers carry the core, and the policy forbids every request', async () => {
  const tab = await open();
  assert.equal(tab.workers().length > 0, true, 'no worker runs');
  const policy = await tab.locator('meta[http-equiv=Content-Security-Policy]').getAttribute('content');
  assert.match(policy, /^default-src 'none'; script-src 'wasm-unsafe-eval' 'sha256-[^']+' 'sha256-[^']+' 'sha256-[^']+'; style-src 'sha256-[^']+'; worker-src blob:; img-src data: blob:; base-uri 'none'; form-action 'none'$/);
  const refused = await tab.evaluate(() => fetch('https://example.org/').then(() => 'sent', () => 'refused'));
  assert.equal(refused, 'refused');
  errors.length = 0; // the refusal itself is printed
  requests.length = 0;
  await tab.context().close();
});

test('where the core cannot run at all, the first change says so', async () => {
  const tab = await open({ ready: false });
  await tab.addInitScript(() => {
    globalThis.Worker = class {
      constructor() {
        throw new Error('no workers here');
      }
    };
    WebAssembly.compile = () => Promise.reject(new Error('no WebAssembly here'));
  });
  await tab.reload();
  await tab.waitForFunction(() => globalThis.vramwise?.state().plan, undefined, { timeout: 240_000 });
  await tab.locator('#context').press('ArrowLeft');
  await tab.waitForSelector('#error');
  assert.match(await tab.locator('#error').innerText(), /no WebAssembly here/);
  await tab.context().close();
});

test('where a worker cannot start, the main thread answers', async () => {
  const tab = await open({ ready: false });
  await tab.addInitScript(() => {
    globalThis.Worker = class {
      constructor() {
        throw new Error('no workers here');
      }
    };
  });
  await tab.reload();
  await tab.waitForFunction(() => globalThis.vramwise?.state().plan, undefined, { timeout: 240_000 });
  assert.equal(await tab.locator('.vword').innerText(), 'Does not fit');
  // Not the answer that the page came with: one that only a core can give.
  const asked = { schema_version: 1, ask: 'inspect', model: { ref: 'Qwen/Qwen3-0.6B' } };
  assert.equal((await tab.evaluate((asked) => globalThis.vramwise.ask(asked), asked)).model.id ?? 'none', 'Qwen/Qwen3-0.6B');
  assert.equal(tab.workers().length, 0);
  await tab.context().close();
});
