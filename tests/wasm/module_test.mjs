// module_test.mjs MODULE BINARY: the module loads, asks little of its host, and answers even nonsense with JSON, in the
// words of the native program.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { load } from './wasm_module.mjs';

const vramwise = await load(process.argv[2]);

test('imports only what a page can give in a few lines', () => {
  const known = ['environ_get', 'environ_sizes_get', 'fd_close', 'fd_fdstat_get', 'fd_seek', 'fd_write', 'proc_exit'];
  for (const { module, name } of vramwise.imports) {
    assert.equal(module, 'wasi_snapshot_preview1');
    assert.ok(known.includes(name), `unexpected import ${name}`);
  }
});

test('answers nonsense with an error and lives on', () => {
  for (const request of ['', 'null', '[', '{"ask":7}', '\u0000', '{"id":"é"', '['.repeat(100000)]) {
    const answer = JSON.parse(vramwise.handle(request));
    assert.equal(typeof answer.error?.code, 'string', JSON.stringify(answer).slice(0, 200));
  }
});

// apps/wasm/runtime.cpp has conversions of its own for the JSON library.
test('reads numbers and control characters as the native program does', () => {
  const plan = (users) => `{"schema_version":1,"ask":"plan","model":{"id":"Qwen/Qwen3-8B"},"workload":{"users":4,"context":${users}}}`;
  const requests = ['{"ask":"\u0001"}', '{"ask":\u0002}', '\u001f', '{"ask":"pl\tan"}', ...['1e3', '1.5e3', '1E+3', '-2.5', '1e999', '-1e400', '1e-999', '0.1.2', '1e', '01', '99999999999999999999', '4.9e-324', '9007199254740993.0'].map(plan)];
  const run = spawnSync(process.argv[3], ['batch', '-'], { input: requests.map((line) => line + '\n').join(''), encoding: 'utf8' });
  const native = run.stdout.trimEnd().split('\n');
  assert.equal(native.length, requests.length, run.stderr);
  requests.forEach((request, k) => assert.equal(vramwise.handle(request), native[k], request));
});

test('does not lose memory from one request to the next', () => {
  const ask = () => vramwise.handle('{"schema_version":1,"ask":"nothing"}');
  ask();
  const before = vramwise.exports.memory.buffer.byteLength;
  for (let i = 0; i < 1000; ++i) ask();
  assert.ok(vramwise.exports.memory.buffer.byteLength <= before + (1 << 20));
});

test('refuses a request that is too large without trapping', () => {
  assert.equal(vramwise.exports.vramwise_alloc(0x7fffffff), 0);
});
