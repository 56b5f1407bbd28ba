// Files that are dropped or picked: only headers are read, in the page; the plan is the command line's for the same file.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { answered, binary, close, errors, open, requests, state } from './support/browser.mjs';
import { batch } from './support/native.mjs';
import { safetensors, smallCheckpoint, smallConfig, smallLlama } from './support/model_files.mjs';

const folder = mkdtempSync(join(tmpdir(), 'vramwise-page-'));
let tab;
before(async () => (tab = await open()));
after(async () => {
  await close();
  rmSync(folder, { recursive: true });
  assert.deepEqual(requests, []);
  assert.deepEqual(errors, []);
});

const file = (name, buffer) => ({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(buffer) });

async function pick(...files) {
  const before = await tab.evaluate(() => globalThis.vramwise.state().asked);
  await tab.locator('#file').setInputFiles(files);
  await tab.waitForFunction((before) => {
    const now = globalThis.vramwise.state();
    return !now.file && (now.error || (now.asked > before && now.answers === now.asked));
  }, before, { timeout: 240_000 });
  return state(tab);
}

/** What the command line says of the same file on disk. */
function native(path, { weights: _, ...request }) {
  const run = spawnSync(binary, ['plan', '--request', '-', '--json'], { input: JSON.stringify({ ...request, model: { path } }), encoding: 'utf8' });
  return JSON.parse(run.stdout);
}

test('a GGUF with a long tokenizer: two reads, the engine that takes it, the plan of the file', async () => {
  const bytes = smallLlama();
  const path = join(folder, 'small.gguf');
  writeFileSync(path, bytes);
  const { request, plan } = await pick(file('<img src=x>.gguf', bytes));
  assert.equal(request.engine.name, 'llama.cpp');
  assert.equal(request.model.header.format, 'gguf');
  const expected = native(path, request);
  assert.equal(plan.model.parameters, expected.model.parameters);
  assert.deepEqual(plan.readings, expected.readings);
  assert.match(await tab.locator('#weights option:checked').innerText(), /of the file/);
});

test('the name in the file is text, not markup', async () => {
  assert.equal(await tab.locator('img').count(), 0);
  assert.match(await tab.locator('body').innerText(), /<img src=x>/);
  const values = await tab.locator('#model').inputValue();
  assert.ok(values.length > 0);
});

test('a config.json, then its safetensors beside it', async () => {
  const config = JSON.stringify(smallConfig);
  await tab.locator('#engine [data-v="vllm"]').click();
  const alone = await pick(file('config.json', config));
  const both = await pick(file('config.json', config), file('model.safetensors', safetensors(smallCheckpoint())));
  assert.equal(alone.plan.model.parameters, both.plan.model.parameters);
  assert.equal(both.request.model.header.format, 'safetensors');
  assert.equal(both.plan.model.tensor_bytes, alone.plan.model.tensor_bytes);
});

test('a file let fall onto the page', async () => {
  const transfer = await tab.evaluateHandle((text) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], 'config.json'));
    return transfer;
  }, JSON.stringify({ ...smallConfig, num_hidden_layers: 3 }));
  await tab.dispatchEvent('body', 'dragenter', { dataTransfer: transfer });
  assert.equal(await tab.locator('#over').isVisible(), true);
  const before = await tab.evaluate(() => globalThis.vramwise.state().asked);
  await tab.dispatchEvent('body', 'drop', { dataTransfer: transfer });
  assert.equal(await tab.locator('#over').isVisible(), false);
  await tab.waitForFunction((before) => globalThis.vramwise.state().asked > before, before);
  await answered(tab);
  assert.equal((await tab.evaluate(() => globalThis.vramwise.state().inspect)).inspect.layers, 3);
});

test('a saved request comes back from its file', async () => {
  const saved = { schema_version: 1, model: { ref: 'Qwen/Qwen3-8B' }, engine: { name: 'vllm' }, hardware: { gpu: 'l40s', count: 1 }, workload: { sequence_tokens: 4096, concurrency: 2 } };
  assert.deepEqual((await pick(file('vramwise-qwen3-8b.request.json', JSON.stringify(saved)))).request, saved);
});

test('a config under the name that a browser saved it by', async () => {
  const { request, error } = await pick(file('config (1).json', '\ufeff' + JSON.stringify(smallConfig)));
  assert.equal(error, undefined);
  assert.deepEqual(request.model, { config: smallConfig });
});

test('a family not known: the rule that its keys resemble is a button', async () => {
  const { error } = await pick(file('config.json', JSON.stringify({ ...smallConfig, model_type: 'frobnicate', architectures: ['FrobForCausalLM'] })));
  assert.equal(error.code, 'unsupported');
  const said = await tab.locator('#error').innerText();
  assert.match(said, /its keys resemble 'llama'/);
  assert.doesNotMatch(said, /--\w/, 'no option of the command line where there is none');
  await tab.locator('#assume').click();
  await answered(tab);
  const { request, plan, error: left } = await state(tab);
  assert.equal(left, undefined);
  assert.equal(request.model.assume_family, 'llama');
  assert.equal(plan.model.parameters, JSON.parse(batch([request])[0]).model.parameters);
});

test('a header of megabytes before data that is not there', async () => {
  // 200 MB of which the disk holds the header: what a download looks like that has just begun.
  const whole = smallLlama({ tokens: 150_000 });
  const path = join(folder, 'begun.gguf');
  writeFileSync(path, whole);
  truncateSync(path, 200e6);
  const before = await tab.evaluate(() => globalThis.vramwise.state().asked);
  await tab.locator('#file').setInputFiles(path);
  await tab.waitForFunction((before) => globalThis.vramwise.state().asked > before, before);
  await answered(tab);
  const { request, plan } = await state(tab);
  assert.deepEqual(plan.readings, native(path, request).readings);
});

const RUBBISH = [
  ['empty.gguf', Buffer.alloc(0)],
  ['tokenizer.json', Buffer.from('{"version": "1.0", "model": {"type": "BPE"}}')],
  ['list.json', Buffer.from('[1, 2, 3]')],
  ['utf16.json', Buffer.from(JSON.stringify(smallConfig), 'utf16le')],
  ['config.json', Buffer.from(JSON.stringify({ ...smallConfig, hidden_size: '256' }))],
  ['config.json', Buffer.from(JSON.stringify({ ...smallConfig, vocab_size: 1e99 }))],
  ['config.json', Buffer.from(JSON.stringify({ ...smallConfig, pad: Array(3e6).fill(12) }))],
  ['model.safetensors.index.json', Buffer.from('{"metadata": {}, "weight_map": {"a": "model-00001-of-00002.safetensors"}}')],
  ['noise.gguf', Buffer.alloc(4096, 0x5a)],
  ['short.gguf', Buffer.from('GGUF')],
  ['cut.gguf', smallLlama({ tokens: 512 }).subarray(0, 900)],
  ['huge.safetensors', Buffer.concat([Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]), Buffer.alloc(64)])],
  ['config.json', Buffer.from('{"model_type":"llama","hidden_size":')],
  ['config.json', Buffer.from(JSON.stringify({ ...smallConfig, num_key_value_heads: 3 }))],
  ['picture.png', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13])],
];
for (const [name, bytes] of RUBBISH) {
  test(`rubbish is refused in words: ${name}, ${bytes.length} bytes`, async () => {
    const { error, plan } = await pick(file(name, bytes));
    assert.equal(plan, undefined);
    assert.notEqual(error.code, 'internal', error.message);
    const text = await tab.locator('#error').innerText();
    assert.match(text, /^error: .{10,}/);
    // An example brings the page back.
    await tab.locator('.eg button').first().click();
    await answered(tab);
    assert.equal((await state(tab)).error, undefined);
  });
}
