// module_test.mjs MODULE: the module loads, asks little of its host, and answers even nonsense with JSON.

import { test } from 'node:test';
import assert from 'node:assert/strict';
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
