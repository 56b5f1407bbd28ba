// golden.mjs MODULE BINARY [FOLDER]: the module and the native program give the same bytes for every
// request of tests/golden. Nothing is expected here but agreement; what is right, golden_test says.

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { load } from './wasm_module.mjs';

const [modulePath, binary, folder = join(dirname(fileURLToPath(import.meta.url)), '../golden')] =
  process.argv.slice(2);

/** Every case of every table: {name, line}; `line` is the request as one line of JSON. */
function cases() {
  const found = [];
  const files = existsSync(folder)
    ? readdirSync(folder, { recursive: true }).filter((file) => file.endsWith('.json')).sort()
    : [];
  for (const file of files) {
    const table = JSON.parse(readFileSync(join(folder, file), 'utf8'));
    (table.cases ?? []).forEach((entry, index) => {
      // A path means something to the native program only.
      if (entry.request === undefined || entry.request?.model?.path !== undefined) return;
      found.push({
        name: `${relative('.', file)}: ${entry.name ?? entry.comment ?? `#${index}`}`,
        line: JSON.stringify(entry.request),
      });
    });
  }
  return found;
}

function nativeAnswers(lines) {
  const run = spawnSync(binary, ['batch', '-'], {
    input: lines.map((line) => line + '\n').join(''),
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  });
  // 0: every line answered; 3: some answers are errors, which is an answer too.
  if (run.error || (run.status !== 0 && run.status !== 3)) {
    throw new Error(`${binary} batch -: ${run.error ?? `exit code ${run.status}, ${run.signal}`}\n${run.stderr}`);
  }
  const answers = run.stdout.split('\n');
  if (answers.at(-1) === '') answers.pop();
  if (answers.length !== lines.length) {
    throw new Error(`batch gave ${answers.length} answers to ${lines.length} requests`);
  }
  return answers;
}

/** The first place where two answers part, with a little of what is around it. */
function difference(native, wasm) {
  let at = 0;
  while (at < native.length && native[at] === wasm[at]) ++at;
  const from = Math.max(0, at - 60);
  return `  native …${native.slice(from, at + 60)}…\n  wasm   …${wasm.slice(from, at + 60)}…`;
}

const all = cases();
if (all.length > 0 && !existsSync(binary)) {
  console.error(`${binary} is missing: build it first (./dev build)`);
  process.exit(1);
}
let failed = 0;
if (all.length > 0) {
  const native = nativeAnswers(all.map(({ line }) => line));
  const { handle } = await load(modulePath);
  all.forEach(({ name, line }, index) => {
    let answer;
    try {
      answer = handle(line);
    } catch (error) {
      answer = String(error);
    }
    if (answer === native[index]) return;
    if (++failed <= 20) console.log(`${name}\n${difference(native[index], answer)}`);
  });
}
console.log(`${all.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
