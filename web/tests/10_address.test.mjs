// The address: back and forward, edited by hand, and what no plan can be made of.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { answered, close, errors, open, requests, state } from './support/browser.mjs';

const link = (value) => '#v1.' + deflateRawSync(JSON.stringify(value)).toString('base64url');
const plan = (ref) => ({ model: { ref }, engine: { name: 'vllm' }, hardware: { gpu: 'l40s', count: 1 }, workload: { sequence_tokens: 4096, concurrency: 2 } });
const NAMES = ['Qwen/Qwen3-0.6B', 'Qwen/Qwen3-8B', 'openai/gpt-oss-20b'];

let tab;
before(async () => (tab = await open({ hash: link(plan(NAMES[0])) })));
after(async () => {
  await close();
  assert.deepEqual(requests, []);
  assert.deepEqual(errors, []);
});

const go = (hash) => tab.evaluate((hash) => { location.hash = hash; }, hash);
const shows = async (ref) => {
  await tab.waitForFunction((ref) => globalThis.vramwise.state().request.model.ref === ref, ref);
  await answered(tab);
};
/** The address is the plan's again. */
const restored = () => tab.waitForFunction(() => location.hash.startsWith('#v1.') && location.hash.length > 60);

test('links opened one after the other are gone back and forward through', async () => {
  for (const name of NAMES.slice(1)) {
    await go(link(plan(name)));
    await shows(name);
  }
  await tab.goBack({ waitUntil: 'commit' });
  await shows(NAMES[1]);
  await tab.goBack({ waitUntil: 'commit' });
  await shows(NAMES[0]);
  await tab.goForward({ waitUntil: 'commit' });
  await shows(NAMES[1]);
});

test('a question that is being put into the address does not take the place of the one gone to meanwhile', async () => {
  // Holds the packing of the question until the browser stands at the other address, whose event is still to come.
  await tab.evaluate(() => {
    const { arrayBuffer } = Response.prototype;
    globalThis.packing = new Promise((begun) => {
      Response.prototype.arrayBuffer = async function () {
        Response.prototype.arrayBuffer = arrayBuffer;
        const packed = await arrayBuffer.call(this);
        begun();
        await new Promise((there) => addEventListener('popstate', () => there(), { once: true }));
        return packed;
      };
    });
  });
  await go(link(plan(NAMES[0])));
  await shows(NAMES[0]);
  await tab.evaluate(() => globalThis.packing);
  await tab.goBack({ waitUntil: 'commit' });
  await shows(NAMES[1]);
});

test('the skip link and an emptied address leave the plan, and the address becomes its own again', async () => {
  const { request } = await state(tab);
  for (const hash of ['#out', '']) {
    await go(hash);
    await restored();
    assert.deepEqual((await state(tab)).request, request);
  }
});

const member = (part, name, value) => ({ ...plan(NAMES[2]), [part]: { ...plan(NAMES[2])[part], [name]: value } });
const DAMAGED = [
  ['cut', link(plan(NAMES[2])).slice(0, -9)], ['no base64', '#v1.%%%'], ['no JSON', '#v1.' + deflateRawSync('{"model":').toString('base64url')],
  ['a bomb', '#v1.' + deflateRawSync(Buffer.alloc(300e6)).toString('base64url')],
  ['a name that is a number', link(member('model', 'ref', 7))], ['options that are text', link(member('engine', 'options', 'x'))],
  ['a card that is a list', link(member('hardware', 'gpu', []))], ['cards that are a number', link(member('hardware', 'devices', 3))],
];
for (const [what, hash] of DAMAGED) {
  test(`a damaged link keeps the plan: ${what}`, async () => {
    const { request } = await state(tab);
    await go(hash);
    await tab.waitForFunction(() => globalThis.vramwise.state().toast?.text === 'That link is damaged; the plan stays as it was');
    await restored();
    assert.deepEqual((await state(tab)).request, request);
    await tab.waitForFunction(() => !globalThis.vramwise.state().toast);
  });
}

test('what only the core can judge it names', async () => {
  for (const [part, name, value] of [['hardware', 'gpu', 'h900'], ['engine', 'name', 'frob'], ['hardware', 'count', -1]]) {
    await go(link(member(part, name, value)));
    await tab.waitForSelector('#error');
    await answered(tab);
    assert.match(await tab.locator('#error').innerText(), /^error: .{10,}/);
    await go(link(plan(NAMES[1])));
    await tab.waitForSelector('.hero h1');
    await answered(tab);
  }
});
