// Puts the parts into one HTML file that runs from disk, with a policy that forbids every request.
//
// pack.mjs PARTS WASM VERSION OUT

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { constants, deflateRawSync, gzipSync } from 'node:zlib';

const [parts, wasm, version, out] = process.argv.slice(2);
const web = fileURLToPath(new URL('..', import.meta.url));
// Gzipped bytes; a test holds the page to them (web/tests/08_performance.test.mjs).
const budgets = JSON.parse(readFileSync(join(web, 'budgets.json'), 'utf8'));
const text = (name) => readFileSync(join(parts, name), 'utf8').trim();
const packed = (bytes) => deflateRawSync(bytes, { level: 9, memLevel: 9, strategy: constants.Z_DEFAULT_STRATEGY });
const gzipped = (bytes) => gzipSync(bytes, { level: 9 }).length;

// "</script" inside a script would end it; "<!--" would start a comment in it.
const script = (name) => text(name).replace(/<\/(script)/gi, '<\\/$1').replace(/<!--/g, '<\\!--');
const theme = readFileSync(join(web, 'src/theme.head.js'), 'utf8')
  .replace(/^\s*\/\/.*$/gm, '').replace(/\s*\n\s*/g, '');
const main = script('main.js').replaceAll('__VRAMWISE_VERSION__', version);
const style = text('main.css');
const worker = script('worker.js');
const index = readFileSync(join(parts, 'index.json'));
const core = readFileSync(wasm);

const hash = (source) => `'sha256-${createHash('sha256').update(source).digest('base64')}'`;
const csp = [
  "default-src 'none'",
  `script-src 'wasm-unsafe-eval' ${hash(theme)} ${hash(main)}`,
  `style-src ${hash(style)}`,
  'worker-src blob:',
  'img-src data: blob:',
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

const values = {
  csp, theme, style, main, worker,
  index: packed(index).toString('base64'),
  core: packed(core).toString('base64'),
};
// A function as replacement: "$&" in a bundle must stay what it is.
const html = readFileSync(join(web, 'page.html'), 'utf8').replace(/\{\{(\w+)\}\}/g, (_, name) => values[name]);
writeFileSync(out, html);

const sizes = {
  core: gzipped(core),
  catalogs: gzipped(index),
  'script and style': gzipped(main + worker + style + theme),
  page: gzipped(html),
};
for (const [name, bytes] of Object.entries(sizes)) {
  const { goal, most } = budgets[name];
  console.log(`${name.padEnd(17)} ${(bytes / 1024).toFixed(1).padStart(7)} KiB gzipped, goal ${goal >> 10}, held to ${most >> 10}${bytes > most ? '  OVER' : ''}`);
}
writeFileSync(join(parts, 'sizes.json'), JSON.stringify({ sizes }, null, 1));
