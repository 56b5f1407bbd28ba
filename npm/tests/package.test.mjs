// Runs in an empty folder into which the tarball was installed.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { existsSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { load, VramwiseError } from '@vramwise/core';

const folder = new URL('node_modules/@vramwise/core/', `file://${process.cwd()}/`);
const question = {
  model: { ref: 'Qwen/Qwen3-8B' },
  hardware: { gpu: 'rtx-4090' },
  workload: { sequence_tokens: 8192, concurrency: 2 },
};
const vramwise = await load();

test('the package holds what it needs and nothing else', async () => {
  const files = (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath ?? entry.path}/${entry.name}`.replace(folder.pathname, '').replace(/^\/+/, ''));
  assert.deepEqual(files.sort(), [
    'LICENSE', 'README.md', 'dist/bytes.d.ts', 'dist/bytes.js', 'dist/index.d.ts', 'dist/index.js', 'dist/module.d.ts', 'dist/module.js', 'dist/types.d.ts',
    'dist/types.js', 'examples/browser.html', 'examples/node.mjs', 'package.json', 'vramwise.wasm',
  ]);
});

test('answers as the command line does', { skip: !existsSync(process.env.VRAMWISE ?? '') }, () => {
  const { stdout } = spawnSync(process.env.VRAMWISE, ['batch', '-'], { input: `${JSON.stringify(question)}\n`, encoding: 'utf8' });
  assert.equal(vramwise.handle(JSON.stringify(question)), stdout.trimEnd());
});

test('plan, grid, gpus and inspect', () => {
  const plan = vramwise.plan(question);
  assert.equal(plan.outcome, 'fits');
  assert.ok(plan.totals.total_bytes > 16e9);
  const grid = vramwise.grid(question, { sequence_tokens: [8192, 40960], concurrency: [2, 64] });
  assert.equal(grid.cells.length, 2);
  assert.equal(grid.cells[0][0].need.total_bytes[1], plan.readings.need.total_bytes);
  assert.equal(grid.cells[1][0].outcome, 'does_not_fit');
  assert.ok(vramwise.gpus(question).choices.length > 10);
  assert.equal(vramwise.inspect({ model: question.model }).model.parameters, 8190735360);
});

test('an error is thrown with its code and hints, or answered', () => {
  const wrong = { ...question, model: { ref: 'Qwen/Qwen3-8X' } };
  assert.throws(() => vramwise.plan(wrong), (error) => error instanceof VramwiseError && error.code === 'not_found' && error.hints.length > 0);
  assert.equal(vramwise.ask(wrong).error.code, 'not_found');
  assert.equal(JSON.parse(vramwise.handle('{')).error.code, 'invalid_input');
});

test('a model by its files: config.json in parts', async () => {
  const config = JSON.stringify({
    architectures: ['LlamaForCausalLM'], model_type: 'llama', hidden_size: 64, intermediate_size: 128, num_hidden_layers: 2,
    num_attention_heads: 4, num_key_value_heads: 2, vocab_size: 100, max_position_embeddings: 512, torch_dtype: 'bfloat16',
  });
  const answer = await vramwise.askFiles({ ask: 'inspect' }, { 'config.json': new Blob([config]) });
  assert.equal(answer.error, undefined, JSON.stringify(answer.error));
  assert.equal(answer.inspect.layers, 2);
});

test('the example for Node runs', () => {
  const output = execFileSync(process.execPath, [new URL('examples/node.mjs', folder).pathname], { encoding: 'utf8' });
  assert.match(output, /vllm serve Qwen\/Qwen3-8B/);
  assert.match(output, /4 x 32768 tokens: /);
});

test('loads by fetch, as a page does', async () => {
  const bytes = await readFile(new URL('vramwise.wasm', folder));
  const server = createServer((_, response) => response.setHeader('content-type', 'application/wasm').end(bytes));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const fetched = await load(fetch(`http://127.0.0.1:${server.address().port}/vramwise.wasm`));
    assert.equal(fetched.plan({ ...question, levers: false }).outcome, 'fits');
  } finally {
    server.close();
  }
  const missing = await load(new Response('', { status: 404 })).catch((error) => error);
  assert.match(missing.message, /404/);
});
