// Loads vramwise.wasm under Node and asks it questions: what the page's worker does, without a page.

import { readFile } from 'node:fs/promises';
import { WASI } from 'node:wasi';

/** @returns {Promise<{handle: (request: string) => string, exports: WebAssembly.Exports}>} */
export async function load(path) {
  const wasi = new WASI({ version: 'preview1' });
  const module = await WebAssembly.compile(await readFile(path));
  const instance = await WebAssembly.instantiate(module, wasi.getImportObject());
  wasi.initialize(instance);
  const { memory, vramwise_alloc, vramwise_free, vramwise_handle } = instance.exports;

  function handle(request) {
    const bytes = new TextEncoder().encode(request);
    const input = vramwise_alloc(bytes.length) >>> 0;
    if (input === 0) throw new Error('vramwise_alloc: no memory');
    new Uint8Array(memory.buffer, input, bytes.length).set(bytes);
    const output = vramwise_handle(input, bytes.length) >>> 0;
    vramwise_free(input);
    if (output === 0) throw new Error('vramwise_handle: no memory');
    // The memory may have grown meanwhile: its buffer is looked up again.
    const length = new DataView(memory.buffer).getUint32(output, true);
    const answer = new TextDecoder('utf-8', { fatal: true })
      .decode(new Uint8Array(memory.buffer, output + 4, length));
    vramwise_free(output);
    return answer;
  }
  return { handle, exports: instance.exports, imports: WebAssembly.Module.imports(module) };
}
