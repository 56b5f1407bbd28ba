// Fifty questions put through the form's own controls: each request is the command line's, byte for byte its answer.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { answered, close, errors, open, requests, state } from './support/browser.mjs';
import { batch } from './support/native.mjs';

after(async () => {
  await close();
  assert.deepEqual(requests, []);
  assert.deepEqual(errors, []);
});

const MODELS = ['Qwen/Qwen3-8B', 'meta-llama/Llama-3.1-70B', 'openai/gpt-oss-20b', 'google/gemma-3-27b-it', 'deepseek-ai/DeepSeek-V3'];
const GPUS = ['h100-sxm', 'rtx-4090', 'mi300x', 'l40s', 'b200'];
const ENGINES = ['vllm', 'llama.cpp', 'sglang', 'trtllm', 'ollama', 'transformers'];
const CONTEXTS = ['4k', '8192', '16,384', '32k', '2000'];

async function chooseModel(tab, id) {
  await tab.locator('#model').click();
  await tab.locator('#model').fill(id.split('/')[1]);
  await tab.locator(`[role=option][data-m="${id}"]`).click();
  await answered(tab);
}

test('fifty requests made with the form', async () => {
  const tab = await open();
  const asked = [];
  const answers = [];
  for (let i = 0; i < 50; ++i) {
    const engine = ENGINES[i % ENGINES.length];
    if (i % 10 === 0) await chooseModel(tab, MODELS[i / 10]);
    await tab.locator(`#engine [data-v="${engine}"]`).click();
    await tab.locator('#gpu').selectOption(GPUS[(i * 3 + (i >> 2)) % GPUS.length]);
    await tab.locator('#count').selectOption(String([1, 2, 8, 4][i % 4]));
    await tab.locator('#context-value').fill(CONTEXTS[(i * 2) % CONTEXTS.length]);
    await tab.locator('#context-value').press('Enter');
    await tab.locator('#users-value').fill(String([1, 7, 32, 3][(i >> 1) % 4]));
    await tab.locator('#users-value').press('Enter');
    if (i % 3 === 0 && engine !== 'transformers') await tab.locator('#cache button').nth(1).click();
    if (i % 4 === 1) {
      const formats = await tab.locator('#weights option').evaluateAll((options) => options.map((option) => option.value));
      await tab.locator('#weights').selectOption(formats[i % formats.length]);
    }
    if (i % 5 === 2 && engine === 'vllm') await tab.locator('#version').selectOption('0.18');
    await answered(tab);
    const { request } = await state(tab);
    assert.equal(request.engine.name, engine);
    assert.equal(request.workload.sequence_tokens, [4096, 8192, 16384, 32768, 2000][(i * 2) % 5]);
    asked.push(request);
    answers.push(await tab.evaluate((request) => globalThis.vramwise.askText(request), request));
    // The verdict on the page is the answer's.
    const { outcome, error } = JSON.parse(answers.at(-1));
    const word = error ? await tab.locator('#error').count() : await tab.locator('.hero').getAttribute('data-o');
    assert.equal(word, error ? 1 : outcome, JSON.stringify(request));
  }
  const expected = batch(asked);
  asked.forEach((request, i) => assert.equal(answers[i], expected[i], JSON.stringify(request)));
  assert.equal(new Set(asked.map((request) => JSON.stringify(request))).size, 50);
  await tab.context().close();
});

test('options of the engine go under its own names, and back to their defaults', async () => {
  const tab = await open({ hash: '' });
  await tab.locator('#engine [data-v="vllm"]').click();
  await tab.locator('#more summary').click();
  await tab.locator('#option-gpu_memory_utilization').fill('0.8');
  await tab.locator('#option-gpu_memory_utilization').press('Enter');
  await answered(tab);
  assert.deepEqual((await state(tab)).request.engine.options, { gpu_memory_utilization: 0.8 });
  assert.equal(await tab.locator('#more .hint').innerText(), '1 changed');
  await tab.locator('#option-enforce_eager').selectOption('on');
  await answered(tab);
  assert.deepEqual((await state(tab)).request.engine.options, { gpu_memory_utilization: 0.8, enforce_eager: true });
  await tab.locator('#option-search').fill('lora rank');
  assert.ok((await tab.locator('.opt code').allInnerTexts()).includes('--max-lora-rank'));
  await tab.locator('#option-search').fill('');
  for (const id of ['gpu_memory_utilization']) {
    await tab.locator(`#option-${id}`).fill('');
    await tab.locator(`#option-${id}`).press('Enter');
  }
  await tab.locator('#option-enforce_eager').selectOption('');
  await answered(tab);
  assert.equal((await state(tab)).request.engine.options, undefined);
  // Another engine: nothing of this one's stays.
  await tab.locator('#engine [data-v="llama.cpp"]').click();
  await answered(tab);
  assert.deepEqual((await state(tab)).request.engine, { name: 'llama.cpp' });
  await tab.context().close();
});

test('a card of its own size, and memory that others use', async () => {
  const tab = await open();
  await tab.locator('#gpu').selectOption('own');
  await tab.locator('#total').fill('48');
  await tab.locator('#total').press('Tab');
  await tab.locator('#used').fill('1.5');
  await tab.locator('#used').press('Tab');
  await answered(tab);
  const { request, plan } = await state(tab);
  assert.deepEqual(request.hardware, { count: 1, total_bytes: 48 * 2 ** 30, used_bytes: 1.5 * 2 ** 30 });
  assert.equal(plan.devices[0].total_bytes, 48 * 2 ** 30);
  await tab.context().close();
});
