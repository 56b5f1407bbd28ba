// Each example, through the menu: the verdict is the command line's, and everything below it is there.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { close, errors, open, requests, settled, state } from './support/browser.mjs';
import { answer } from './support/native.mjs';

after(async () => {
  await close();
  assert.deepEqual(requests, []);
  assert.deepEqual(errors, []);
});

const WORDS = { fits: 'Fits', tight: 'Tight', does_not_fit: 'Does not fit', refuses_to_start: 'Refuses to start' };

for (const preset of ['70b', '3090', '50users', 'start', 'moe', 'large']) {
  test(`example ${preset}`, async () => {
    const tab = await open({ hash: '#empty', ready: false });
    await tab.waitForSelector('.state h1');
    await tab.locator('#examples').click();
    await tab.locator(`[data-choice="${preset}"]`).click();
    await settled(tab);
    const { request } = await state(tab);
    const expected = answer(request);
    assert.equal(await tab.locator('.vword').innerText(), WORDS[expected.outcome]);
    assert.match(await tab.locator('.hero h1').innerText(), /\d/);
    assert.equal(await tab.locator('.lev').count(), Math.min(8, expected.levers.length));
    if (expected.command) assert.equal((await tab.locator('#command').innerText()).replace(/\s*\\\n\s*/g, ' '), expected.command);
    if (expected.engine_error) assert.ok((await tab.locator('.enginesays').innerText()).includes(expected.engine_error));
    assert.equal(await tab.locator('#map svg').count(), 1);
    assert.equal(await tab.locator('#curve svg').count(), 1);
    // The ledger on the page adds up to the total that was answered.
    assert.equal(await tab.locator('.ltot .v').innerText(), (expected.totals.total_bytes / 2 ** 30).toFixed(2));
    await tab.context().close();
  });
}

test('trying a change, and taking it back', async () => {
  const tab = await open();
  const before = (await state(tab)).request;
  const lever = (await tab.evaluate(() => globalThis.vramwise.state().levers))[0].lever;
  await tab.locator('.lev .go button').first().click();
  await settled(tab);
  const { plan } = await state(tab);
  assert.equal(plan.outcome, lever.outcome);
  assert.equal(plan.users, lever.users);
  await tab.locator('#toast button').click();
  await settled(tab);
  assert.deepEqual((await state(tab)).request, before);
  await tab.context().close();
});
