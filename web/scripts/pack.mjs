// Puts the parts into one HTML file that runs from disk, with a policy that forbids every request.
//
// pack.mjs PARTS WASM VERSION OUT

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { spawnSync } from 'node:child_process';
import { gzipSync } from 'node:zlib';

const [parts, wasm, version, out] = process.argv.slice(2);
const web = fileURLToPath(new URL('..', import.meta.url));
// Gzipped bytes; a test holds the page to them (web/tests/08_performance.test.mjs).
const budgets = JSON.parse(readFileSync(join(web, 'budgets.json'), 'utf8'));
const text = (name) => readFileSync(join(parts, name), 'utf8').trim();
// Python's own library packs .xz on every machine that can build the module; tuned for the core's streams: bytes without
// alignment, where only the upper bits of the byte before tell something of the next.
const XZ = `import lzma, sys
tuned = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 2, "lp": 0, "pb": 0, "nice_len": 273, "dict_size": 1 << 22}]
sys.stdout.buffer.write(lzma.compress(sys.stdin.buffer.read(), lzma.FORMAT_XZ, lzma.CHECK_CRC32, filters=tuned))`;
function packed(bytes) {
  const run = spawnSync('python3', ['-c', XZ], { input: bytes, maxBuffer: 2 ** 28 });
  if (run.status !== 0) throw new Error(`python3 could not pack the module: ${run.error ?? run.stderr}`);
  return run.stdout;
}
const gzipped = (bytes) => gzipSync(bytes, { level: 9 }).length;

// "</script" inside a script would end it; "<!--" would start a comment in it.
const script = (name) => text(name).replace(/<\/(script)/gi, '<\\/$1').replace(/<!--/g, '<\\!--');
const theme = readFileSync(join(web, 'src/theme.head.js'), 'utf8')
  .replace(/^\s*\/\/.*$/gm, '').replace(/\s*\n\s*/g, '');
const main = script('main.js').replaceAll('__VRAMWISE_VERSION__', version);
const style = text('main.css');
const worker = script('worker.js');
const unpack = script('unpack.js');
// JSON allows the escape, and then nothing in it ends its element or starts a comment.
const index = text('index.json').replaceAll('<', '\\u003c');
const { split, join: joined } = await import(pathToFileURL(join(parts, 'streams.js')).href);
const core = readFileSync(wasm);
const streams = split(core);
if (!core.equals(joined(streams))) throw new Error(`${wasm} does not come back from its streams (web/src/core/streams.ts)`);
const corePacked = packed(streams);

const hash = (source) => `'sha256-${createHash('sha256').update(source).digest('base64')}'`;
const csp = [
  "default-src 'none'",
  `script-src 'wasm-unsafe-eval' ${hash(theme)} ${hash(unpack)} ${hash(main)}`,
  `style-src ${hash(style)}`,
  'worker-src blob:',
  'img-src data: blob:',
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

const values = {
  csp, theme, style, main, worker, unpack, index,
  core: corePacked.toString('base64'),
};
// A function as replacement: "$&" in a bundle must stay what it is.
const html = readFileSync(join(web, 'page.html'), 'utf8').replace(/\{\{(\w+)\}\}/g, (_, name) => values[name]);
writeFileSync(out, html);

const sizes = {
  core: gzipped(corePacked.toString('base64')),
  catalogs: gzipped(index),
  'script and style': gzipped(main + worker + unpack + style + theme),
  page: gzipped(html),
};
for (const [name, bytes] of Object.entries(sizes)) {
  const { goal, most } = budgets[name];
  console.log(`${name.padEnd(17)} ${(bytes / 1024).toFixed(1).padStart(7)} KiB gzipped, goal ${goal >> 10}, held to ${most >> 10}${bytes > most ? '  OVER' : ''}`);
}
writeFileSync(join(parts, 'sizes.json'), JSON.stringify({ sizes }, null, 1));
