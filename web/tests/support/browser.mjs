// Chromium with the built page in it. Whatever the page asks the network for is written down, so that every
// test can hold it to nothing.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

export const root = fileURLToPath(new URL('../../..', import.meta.url));
export const page = process.env.VRAMWISE_PAGE ?? join(root, 'build/web/vramwise.html');
export const binary = process.env.VRAMWISE ?? join(root, 'build/release/bin/vramwise');
export const url = pathToFileURL(page).href;

const candidates = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
export const executablePath = candidates.find((path) => path && existsSync(path));

let browser;
export async function launch() {
  browser ??= await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  return browser;
}
export async function close() {
  await browser?.close();
  browser = undefined;
}

/** Requests that left the page, and errors it printed, of all pages of this process. */
export const requests = [];
export const errors = [];

export async function open({ hash = '', width = 1440, height = 900, theme = 'light', ready = true, from = url, ...options } = {}) {
  const context = await (await launch()).newContext({
    viewport: { width, height }, colorScheme: theme, reducedMotion: 'reduce', permissions: [], ...options,
  });
  context.setDefaultTimeout(120_000); // a busy machine is slow, not wrong
  const tab = await context.newPage();
  tab.on('request', (request) => {
    // The page itself, its workers and its saved files are no requests to anyone.
    const { protocol } = new URL(request.url());
    if (!(protocol === 'file:' && request.isNavigationRequest()) && protocol !== 'blob:' && protocol !== 'data:') requests.push(request.url());
  });
  tab.on('pageerror', (error) => errors.push(error.stack ?? String(error)));
  tab.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  await tab.goto(from + hash);
  if (ready) await settled(tab);
  return tab;
}

/** Until the newest question has its verdict, its changes and its pictures. */
export async function settled(tab, { cards = false } = {}) {
  await tab.waitForFunction((cards) => {
    const state = globalThis.vramwise?.state();
    if (!state?.ready || state.file) return false;
    return state.answers === state.asked && state.of.levers === state.asked && state.of.pictures === state.asked && (!cards || state.of.cards === state.asked);
  }, cards, { timeout: 240_000 });
}

/** Until the newest question has its verdict. */
export async function answered(tab) {
  await tab.waitForFunction(() => {
    const state = globalThis.vramwise?.state();
    return state?.ready && !state.file && state.answers === state.asked;
  }, undefined, { timeout: 240_000 });
}

export const state = (tab) => tab.evaluate(() => {
  const { request, plan, error } = globalThis.vramwise.state();
  return { request, plan, error };
});
