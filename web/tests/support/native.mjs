// The command line's answers, to hold the page's against.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { binary } from './browser.mjs';

/** One answer line a request, as printed. */
export function batch(requests) {
  const input = requests.map((request) => JSON.stringify(request) + '\n').join('');
  const run = spawnSync(binary, ['batch', '-'], { input, encoding: 'utf8', maxBuffer: 2 ** 30 });
  assert.ifError(run.error);
  const lines = run.stdout.trimEnd().split('\n');
  assert.equal(lines.length, requests.length, run.stderr);
  return lines;
}

export const answer = (request) => JSON.parse(batch([request])[0]);
