// The page opens from disk, answers as the command line does, and asks nobody for anything.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, test } from 'node:test';
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

test('workers carry the core, and the policy forbids every request', async () => {
  const tab = await open();
  assert.equal(tab.workers().length > 0, true, 'no worker runs');
  const policy = await tab.locator('meta[http-equiv=Content-Security-Policy]').getAttribute('content');
  assert.match(policy, /^default-src 'none'; script-src 'wasm-unsafe-eval' 'sha256-[^']+' 'sha256-[^']+'; style-src 'sha256-[^']+'; worker-src blob:; img-src data: blob:; base-uri 'none'; form-action 'none'$/);
  const refused = await tab.evaluate(() => fetch('https://example.org/').then(() => 'sent', () => 'refused'));
  assert.equal(refused, 'refused');
  errors.length = 0; // the refusal itself is printed
  requests.length = 0;
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
  assert.equal(tab.workers().length, 0);
  await tab.context().close();
});
