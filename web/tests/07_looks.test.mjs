// Accessibility in both themes at three widths, nothing that scrolls sideways, and charts as tables.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { violations } from './support/axe.mjs';
import { close, errors, open, requests, root, settled } from './support/browser.mjs';

after(async () => {
  await close();
  assert.deepEqual(requests, []);
  assert.deepEqual(errors, []);
});

const overflow = (tab) => tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

for (const theme of ['light', 'dark']) {
  for (const width of [390, 768, 1440]) {
    test(`axe finds nothing: ${theme}, ${width} px`, async () => {
      const tab = await open({ theme, width });
      await settled(tab, { cards: true });
      if (width === 390) await tab.locator('.askhead').click();
      await tab.locator('#more summary').click();
      await tab.locator('.lrow[aria-expanded]').first().click();
      await tab.locator('#pin').click();
      assert.deepEqual(await violations(tab), []);
      assert.equal(await overflow(tab), 0);
      // Nor do the cards hide their last column, where the buttons are.
      assert.equal(await tab.locator('#cards').evaluate(({ parentElement: box }) => box.scrollWidth - box.clientWidth), 0);
      await tab.context().close();
    });
  }
}

test('axe finds nothing in the other states: empty, message, tables, open list', async () => {
  const tab = await open({ hash: '#empty', ready: false });
  await tab.waitForSelector('.state h1');
  assert.deepEqual(await violations(tab), []);
  await tab.locator('.eg button').nth(2).click();
  await settled(tab);
  for (const id of ['curve', 'map']) await tab.locator(`[data-table=${id}]`).click();
  await tab.locator('#model').click();
  await tab.waitForSelector('[role=option]');
  assert.deepEqual(await violations(tab), []);
  await tab.keyboard.press('Escape');
  await tab.locator('#file').setInputFiles([{ name: 'x.gguf', mimeType: '', buffer: Buffer.from('no model at all') }]);
  await tab.waitForSelector('#error');
  assert.deepEqual(await violations(tab), []);
  await tab.context().close();
});

for (const [theme, width] of [['light', 1440], ['dark', 390]]) {
  test(`axe finds nothing in the panels: traffic, its fields, a log beside the plan, terms, keys: ${theme}, ${width} px`, async () => {
    const tab = await open({ theme, width });
    const found = [];
    const held = async (what, ...within) => {
      for (const text of await violations(tab, within)) found.push(`${what}: ${text}`);
      if (await overflow(tab) !== 0) found.push(`${what}: scrolls sideways`);
    };
    await tab.locator('#examples').click();
    await tab.locator('[data-choice="50users"]').click();
    await settled(tab);
    if (width === 390) await tab.locator('.askhead').click();
    await tab.locator('[data-workload=chat]').click();
    await tab.waitForFunction(() => { const { load } = globalThis.vramwise.state(); return load && !load.busy && (load.answered || load.error); }, undefined, { timeout: 240_000 });
    await held('a simulated load', '#traffic', '#traffic-answer');
    await tab.locator('#arrivals [data-v=users]').click();
    await held('people who come back', '#traffic');
    await tab.locator('#paste-open').click();
    for (const [file, sign] of [['vllm-0.11-llama-8b.log', '#rows'], ['vllm-0.11-qwen3-32b-refused.log', '#verified .died']]) {
      await tab.locator('#paste').fill(readFileSync(join(root, 'tests/data/logs', file), 'utf8'));
      await tab.waitForSelector(sign);
      await held(file, '#verified');
    }
    await tab.locator('.part .term').first().click();
    await tab.waitForSelector('#terms .here');
    await held('the list of terms', '#terms');
    await tab.keyboard.press('Escape');
    await tab.locator('.hero h1').click();
    await tab.keyboard.press('?');
    await tab.waitForSelector('dialog[open]');
    await held('the keys', '#help');
    assert.deepEqual(found, []);
    await tab.context().close();
  });
}

for (const width of [320, 390, 768, 1440]) {
  test(`nothing scrolls sideways at ${width} px, whatever the plan`, async () => {
    const tab = await open({ width, hash: '' });
    for (const choice of ['start', 'large', '3090']) {
      await tab.locator('#examples').click();
      await tab.locator(`[data-choice="${choice}"]`).click();
      await settled(tab);
      assert.equal(await overflow(tab), 0, choice);
      // No label of the bar lies on another or outside of the picture.
      const collisions = await tab.evaluate(() => {
        const svg = document.querySelector('.bars svg').getBoundingClientRect();
        const boxes = [...document.querySelectorAll('.bars text')].map((text) => ({ text: text.textContent, box: text.getBoundingClientRect() }));
        const out = boxes.filter(({ box }) => box.left < svg.left - 1 || box.right > svg.right + 1).map(({ text }) => `outside: ${text}`);
        boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => {
          if (a.box.left < b.box.right - 1 && b.box.left < a.box.right - 1 && a.box.top < b.box.bottom - 2 && b.box.top < a.box.bottom - 2) out.push(`${a.text} on ${b.text}`);
        }));
        return out;
      });
      assert.deepEqual(collisions, [], choice);
    }
    await tab.context().close();
  });
}

test('charts as tables hold the numbers of the answer', async () => {
  const tab = await open();
  await tab.locator('[data-table=map]').click();
  const { map, request } = await tab.evaluate(() => { const { map, request } = globalThis.vramwise.state(); return { map, request }; });
  assert.equal(await tab.locator('#h-map').locator('xpath=ancestor::section').locator('tbody tr').count(), map.users.length);
  assert.ok(map.contexts.includes(request.workload.sequence_tokens), 'the plan is a cell of the map');
  assert.ok(map.users.includes(request.workload.concurrency));
  await tab.locator('[data-table=curve]').click();
  assert.ok(await tab.locator('#h-curve').locator('xpath=ancestor::section').locator('tbody tr').count() >= 8);
  await tab.context().close();
});

test('on paper: the answer in one column and in light colours, without what is pressed', async () => {
  const tab = await open({ theme: 'dark' });
  await settled(tab, { cards: true });
  await tab.emulateMedia({ media: 'print' });
  assert.equal(await tab.locator('.ask, .top, button.btn').filter({ visible: true }).count(), 0);
  const shown = await tab.evaluate(() => ({
    left: document.querySelector('.hero h1').getBoundingClientRect().left, text: getComputedStyle(document.querySelector('.say')).color,
    rows: document.querySelectorAll('.lev').length,
  }));
  assert.ok(shown.left < 40, `the answer starts at ${shown.left} px`);
  assert.ok(shown.text.match(/\d+/g).every((part) => Number(part) < 128), `${shown.text} on white paper`);
  assert.ok(shown.rows > 0);
  await tab.context().close();
});

test('zoomed to 200 %: nothing scrolls sideways, the verdict is told below', async () => {
  const tab = await open({ width: 720, height: 450, deviceScaleFactor: 2 });
  await settled(tab, { cards: true });
  assert.equal(await overflow(tab), 0);
  assert.ok(await tab.locator('.live').isVisible());
  await tab.context().close();
});

test('reduced motion: nothing moves by itself', async () => {
  const tab = await open();
  const moving = await tab.evaluate(() => document.getAnimations().length);
  assert.equal(moving, 0);
  await tab.context().close();
});
