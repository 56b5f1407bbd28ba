// The paste box and the link: a line fills the form, a config becomes the model, a link comes back as it went.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { answered, close, errors, open, requests, root, settled, state, url } from './support/browser.mjs';
import { answer } from './support/native.mjs';
import { smallConfig } from './support/model_files.mjs';

let tab;
before(async () => {
  tab = await open();
  await tab.locator('#paste-open').click();
});
after(async () => {
  await close();
  assert.deepEqual(requests, []);
  assert.deepEqual(errors, []);
});

async function paste(text) {
  await tab.locator('#paste').fill('');
  await tab.waitForFunction(() => document.querySelector('#paste-message').textContent.startsWith('A launch line'));
  await tab.locator('#paste').fill(text);
  await tab.waitForFunction(() => !document.querySelector('#paste-message').textContent.startsWith('A launch line'));
  await answered(tab);
  return tab.locator('#paste-message').innerText();
}

test('a vllm line', async () => {
  const said = await paste('VLLM_USE_V1=1 vllm serve Qwen/Qwen3-30B-A3B --tensor-parallel-size 2 --max-model-len 32768 --kv-cache-dtype fp8 --port 8000');
  assert.match(said, /^Read the model and \d+ options of vLLM/);
  const { request, plan } = await state(tab);
  assert.equal(request.model.ref, 'Qwen/Qwen3-30B-A3B');
  assert.equal(request.workload.sequence_tokens, 32768);
  assert.equal(request.hardware.count, 2);
  assert.equal(await tab.locator('#cache [aria-checked=true]').innerText(), 'fp8');
  assert.equal(plan.engine.options.kv_cache_dtype, 'fp8');
  assert.equal(await tab.locator('#context-value').inputValue(), '32,768');
});

test('a llama-server line: cells over slots', async () => {
  await paste('llama-server -m Llama-3.1-70B-Q5_K_M.gguf -ngl 99 -c 65536 -np 4 -fa on -ctk q8_0 -ctv q8_0');
  const { request } = await state(tab);
  assert.deepEqual(request.workload, { sequence_tokens: 16384, concurrency: 4 });
  assert.equal(request.weights, 'Q5_K_M');
  assert.equal(await tab.locator('#cache [aria-checked=true]').innerText(), 'q8_0');
});

test('a config', async () => {
  assert.equal(await paste(JSON.stringify(smallConfig, null, 2)), 'Read as a config.json.');
  assert.deepEqual((await state(tab)).request.model, { config: smallConfig });
});

test("an engine's configuration file is the chosen engine's", async () => {
  await paste('vllm serve Qwen/Qwen3-8B');
  await paste('# of the staging server\nmax-model-len: 4096\ntensor-parallel-size: 2\nkv-cache-dtype: fp8\n');
  let { request } = await state(tab);
  assert.equal(request.model.ref, 'Qwen/Qwen3-8B');
  assert.equal(request.workload.sequence_tokens, 4096);
  assert.deepEqual([request.hardware.count, request.engine.options.kv_cache_dtype], [2, 'fp8']);
  await paste('model: Qwen/Qwen3-14B\nmax-model-len: 16384\n');
  ({ request } = await state(tab));
  assert.deepEqual([request.model.ref, request.workload.sequence_tokens], ['Qwen/Qwen3-14B', 16384]);
  assert.match(await paste('shopping: milk\ncolour: green\n'), /^Not recognised/);
});

test('a saved request', async () => {
  const saved = { schema_version: 1, model: { ref: 'Qwen/Qwen3-8B' }, engine: { name: 'sglang' }, hardware: { gpu: 'l40s', count: 1 }, workload: { sequence_tokens: 8192, concurrency: 4 } };
  assert.equal(await paste(JSON.stringify(saved)), 'Read as a saved request.');
  assert.deepEqual((await state(tab)).request, saved);
});

test('a startup log is set beside the plan', async () => {
  const said = await paste('INFO 11-29 10:00:00 [gpu_worker.py:298] Available KV cache memory: 3.17 GiB\nINFO 11-29 10:00:00 [kv_cache_utils.py:864] GPU KV cache size: 34,656 tokens');
  assert.match(said, /log/);
  assert.match(said, /\.$/);
});

test('a real log, line by line as the command line has it', async () => {
  const log = readFileSync(join(root, 'tests/data/logs/vllm-0.11-llama-8b.log'), 'utf8');
  await paste(log);
  await tab.waitForSelector('#rows');
  const { verify } = answer({ ask: 'verify', log });
  const rows = await tab.locator('#rows tbody tr').evaluateAll((list) => list.map((row) => row.textContent));
  assert.deepEqual(rows.length, verify.rows.length);
  verify.rows.forEach((row, i) => assert.ok(rows[i].startsWith(row.line), rows[i]));
  assert.equal(await tab.locator('#rows .vtext').count(), verify.rows.filter((row) => !row.within_bar).length);
  assert.match(await tab.locator('#verified .vsay').innerText(), /As predicted: 7 lines within the bars/);
});

test('a server that died: why, how much was short, what would have started', async () => {
  const log = readFileSync(join(root, 'tests/data/logs/vllm-0.11-qwen3-32b-refused.log'), 'utf8');
  await paste(log);
  await tab.waitForSelector('#verified .died');
  const { request } = await state(tab);
  const { failure } = answer({ ask: 'verify', log, hardware: request.hardware }).verify;
  const shown = await tab.locator('#verified').innerText();
  assert.match(shown, /Needed\s+10\.00 GiB\s+There\s+1\.60 GiB\s+Short by\s+8\.40 GiB/);
  assert.ok(shown.includes(failure.printed.slice(0, 80)));
  for (const entry of failure.advice) assert.ok(shown.includes(entry.knob), entry.knob);
  assert.equal(await tab.locator('#would-start tbody tr').count(), failure.reproduced === false ? 0 : Math.min(6, failure.changes?.length ?? 0));
});

test('a term opens the list of terms at itself', async () => {
  await tab.locator('#verified [aria-label^=Close]').click();
  await tab.locator('.part .term').nth(1).click();
  await tab.waitForSelector('#terms .here');
  assert.match(await tab.locator('#terms .here').innerText(), /Activations/);
  await tab.keyboard.press('Escape');
  await tab.waitForFunction(() => !document.querySelector('#terms').open);
});

test('what is none of them is said to be so', async () => {
  const before = (await state(tab)).request;
  for (const text of ['hello there', '{"a": 1}', '{"model_type": "llama"', '<script>alert(1)</script>']) {
    const said = await paste(text);
    assert.match(said, /not |Not |neither/i, text);
    assert.deepEqual((await state(tab)).request, before);
  }
});

test('a link comes back as it went, in a page of its own', async () => {
  const { request } = await state(tab);
  await tab.waitForFunction(() => location.hash.startsWith('#v1.'));
  await settled(tab);
  await tab.waitForTimeout(300);
  const hash = await tab.evaluate(() => location.hash);
  const other = await open({ hash });
  assert.deepEqual((await state(other)).request, request);
  assert.equal(await other.evaluate(() => history.length) <= 2, true);
  // Moving a slider rewrites the link and adds nothing to the history.
  const entries = await other.evaluate(() => history.length);
  for (let i = 0; i < 4; ++i) await other.locator('#context').press('ArrowRight');
  await answered(other);
  await other.waitForFunction((hash) => location.hash !== hash, hash);
  assert.equal(await other.evaluate(() => history.length), entries);
  await other.context().close();
});

test('a damaged link says so and shows the first example', async () => {
  const other = await open({ hash: '#v1.AAAAbroken', ready: false });
  await other.waitForFunction(() => document.querySelector('#toast')?.textContent.includes('damaged'));
  await answered(other);
  assert.equal((await state(other)).request.model.ref, 'meta-llama/Llama-3.1-70B');
  assert.ok(url.startsWith('file:'));
  await other.context().close();
});

test('exports: request, answer, ledger, report, pictures', async () => {
  const other = await open();
  const { request } = await state(other);
  const take = async (choice) => {
    await other.locator('#export').click();
    const [download] = await Promise.all([other.waitForEvent('download'), other.locator(`[data-choice="${choice}"]`).click()]);
    const chunks = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk);
    return { name: download.suggestedFilename(), bytes: Buffer.concat(chunks) };
  };
  assert.deepEqual(JSON.parse((await take('request-file')).bytes), request);
  const json = await take('json');
  assert.match(json.name, /^vramwise-llama-3\.1-70b\.json$/);
  assert.deepEqual(JSON.parse(json.bytes), answer(request));
  const csv = (await take('csv')).bytes.toString();
  const total = csv.split('\r\n').slice(1).filter((line) => line.startsWith('0,')).reduce((sum, line) => sum + Number(line.split(',')[3]), 0);
  assert.equal(total, answer(request).totals.total_bytes);
  assert.match((await take('md')).bytes.toString(), /^# meta-llama\/Llama-3.1-70B[^]*## What would help[^]*## Command/);
  const svg = (await take('svg')).bytes.toString();
  assert.match(svg, /^<svg xmlns[^]*<\/svg>\n$/);
  assert.doesNotMatch(svg, /var\(--/);
  const png = (await take('png')).bytes;
  assert.equal(png.subarray(1, 4).toString(), 'PNG');
  assert.ok(png.length > 20_000, `${png.length} bytes`);
  await other.context().close();
});
