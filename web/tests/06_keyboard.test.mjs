// Without a mouse: everything is reached, used and left with the keys.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { answered, close, errors, open, requests, settled, state } from './support/browser.mjs';

after(async () => {
  await close();
  assert.deepEqual(requests, []);
  assert.deepEqual(errors, []);
});

const focused = (tab) => tab.evaluate(() => document.activeElement.id || document.activeElement.className || document.activeElement.tagName);

test('a plan made with the keys alone', async () => {
  const tab = await open();
  const press = async (...keys) => { for (const key of keys) await tab.keyboard.press(key); };
  await press('Tab');
  assert.equal(await focused(tab), 'skip');
  await press('/');
  await tab.waitForFunction(() => document.activeElement.id === 'model');
  await tab.keyboard.type('qwen3 8b');
  assert.equal(await tab.locator('#model').getAttribute('aria-expanded'), 'true');
  await press('ArrowDown', 'ArrowUp', 'Enter');
  await answered(tab);
  assert.match((await state(tab)).request.model.ref, /Qwen3-8B/i);
  await press('Escape');
  // Engine: arrows in a radiogroup choose and keep the focus.
  await tab.locator('#engine [aria-checked=true]').focus();
  await press('ArrowLeft');
  await answered(tab);
  assert.equal((await state(tab)).request.engine.name, 'trtllm');
  assert.equal(await tab.evaluate(() => document.activeElement.getAttribute('aria-checked')), 'true');
  await press('g');
  await tab.waitForFunction(() => document.activeElement.id === 'gpu');
  await press('Escape', 'c');
  await tab.waitForFunction(() => document.activeElement.id === 'context');
  const before = (await state(tab)).request.workload.sequence_tokens;
  await press('ArrowLeft', 'ArrowLeft');
  await answered(tab);
  assert.ok((await state(tab)).request.workload.sequence_tokens < before);
  assert.equal(await focused(tab), 'context', 'the focus stays where it was');
  await press('u');
  await tab.waitForFunction(() => document.activeElement.id === 'users');
  await press('ArrowRight');
  await settled(tab);
  // Curve and map: arrows move the reading only, Enter takes it.
  await tab.locator('#curve').focus();
  const context = (await state(tab)).request.workload.sequence_tokens;
  await press('ArrowRight', 'Shift+ArrowRight');
  assert.equal((await state(tab)).request.workload.sequence_tokens, context);
  await press('Enter');
  await answered(tab);
  assert.ok((await state(tab)).request.workload.sequence_tokens > context);
  await settled(tab);
  await tab.locator('#map').focus();
  const users = (await state(tab)).request.workload.concurrency;
  await press('ArrowUp', 'Enter');
  await answered(tab);
  assert.ok((await state(tab)).request.workload.concurrency > users);
  await settled(tab);
  // Try a change: the focus goes to the verdict, Undo is a button.
  const row = tab.locator('.lev .go button').first();
  await row.focus();
  await press('Enter');
  await tab.waitForFunction(() => document.activeElement.tagName === 'H1');
  await press('p');
  assert.equal(await tab.locator('#pinned .count').innerText(), '1');
  await press('t');
  assert.equal(await tab.evaluate(() => document.documentElement.dataset.choice), 'light');
  await press('?');
  assert.equal(await tab.locator('#help').evaluate((dialog) => dialog.open), true);
  await press('Escape');
  assert.equal(await tab.locator('#help').evaluate((dialog) => dialog.open), false);
  await tab.context().close();
});

test('every control is reached with Tab, in the order of the page, and shows its focus', async () => {
  const tab = await open();
  await settled(tab, { cards: true });
  const seen = [];
  for (let i = 0; i < 120; ++i) {
    await tab.keyboard.press('Tab');
    const at = await tab.evaluate(() => {
      const element = document.activeElement;
      if (element === document.body) return undefined;
      const style = getComputedStyle(element);
      const box = element.getBoundingClientRect();
      return { id: element.id, text: element.textContent.slice(0, 20), ring: style.outlineStyle !== 'none' || element.type === 'range' || element.tagName === 'H1', y: box.top + scrollY, w: box.width };
    });
    if (!at) break;
    seen.push(at);
  }
  assert.ok(seen.length > 40, `${seen.length} stops`);
  assert.deepEqual(seen.filter((at) => !at.ring), []);
  const order = ['model', 'open', 'weights', 'version', 'gpu', 'count', 'context', 'users', 'pin', 'open-all', 'curve', 'map', 'log', 'command'];
  const found = seen.map((at) => at.id).filter((id) => order.includes(id));
  assert.deepEqual(found, order);
  await tab.context().close();
});

test('letters do nothing inside a field, and nothing once switched off', async () => {
  const tab = await open();
  await tab.locator('#context-value').fill('64k');
  await tab.locator('#context-value').press('p');
  assert.equal(await tab.locator('#pinned .count').innerText(), '0');
  await tab.keyboard.press('Escape');
  await tab.keyboard.press('?');
  await tab.locator('#help input').uncheck();
  await tab.locator('#help .btn').click();
  await tab.keyboard.press('p');
  assert.equal(await tab.locator('#pinned .count').innerText(), '0');
  await tab.context().close();
});
