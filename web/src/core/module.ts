// Calls into vramwise.wasm. The module is a WASI reactor that asks its host for next to nothing:
// no file, no clock, no environment.
//
//   alloc(n) → copy the request in → handle(request, n) → [length, answer] → free

interface Exports {
  memory: WebAssembly.Memory;
  _initialize?: () => void;
  vramwise_alloc(size: number): number;
  vramwise_free(pointer: number): void;
  vramwise_handle(request: number, size: number): number;
  vramwise_handle_parts(request: number, size: number, parts: number, count: number): number;
}

/** A range of a file that the page has read. */
export interface Part {
  blob: number;
  offset: number;
  bytes: Uint8Array;
}

/** Puts the text of workload.trace into a request. */
export function complete({ request, recording }: { request: string; recording?: string }): string {
  if (recording === undefined) return request;
  const question = JSON.parse(request) as { workload: { trace?: object } };
  question.workload.trace = { ...question.workload.trace, text: recording };
  return JSON.stringify(question);
}

export interface Core {
  handle(request: string, parts?: readonly Part[]): string;
}

// include/vramwise/vramwise.h: uint64 offset, pointer, uint32 size, uint32 blob; 8-aligned.
const PART_BYTES = 24;

/** Every import answers "not there" (ENOSYS 52) or does nothing; proc_exit is a trap. */
function wasi(module: WebAssembly.Module, memory: () => WebAssembly.Memory): WebAssembly.Imports {
  const zero = (...pointers: number[]) => {
    const view = new DataView(memory().buffer);
    for (const pointer of pointers) view.setUint32(pointer, 0, true);
    return 0;
  };
  const known: Record<string, (...args: never[]) => number> = {
    environ_sizes_get: (count: number, bytes: number) => zero(count, bytes),
    environ_get: () => 0,
    proc_exit: (code: number) => {
      throw new Error(`the core stopped with code ${code}`);
    },
  };
  const functions: Record<string, WebAssembly.ImportValue> = {};
  for (const entry of WebAssembly.Module.imports(module)) {
    functions[entry.name] = known[entry.name] ?? (() => 52);
  }
  return { wasi_snapshot_preview1: functions };
}

export async function instantiate(module: WebAssembly.Module): Promise<Core> {
  let memory: WebAssembly.Memory;
  const instance = await WebAssembly.instantiate(module, wasi(module, () => memory));
  const core = instance.exports as unknown as Exports;
  memory = core.memory;
  core._initialize?.();
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();

  function put(bytes: Uint8Array): number {
    const pointer = core.vramwise_alloc(bytes.length) >>> 0;
    if (pointer === 0) throw new Error('the core has no memory left');
    // The memory may have grown: its buffer is looked up each time.
    new Uint8Array(memory.buffer, pointer, bytes.length).set(bytes);
    return pointer;
  }

  function handle(request: string, parts?: readonly Part[]): string {
    const bytes = encoder.encode(request);
    const given: number[] = [put(bytes)];
    let output: number;
    if (!parts) {
      output = core.vramwise_handle(given[0]!, bytes.length) >>> 0;
    } else {
      const places = parts.map((part) => {
        const place = put(part.bytes);
        given.push(place);
        return place;
      });
      // With no part at all the core is still told that files stand behind the request's blobs.
      const table = core.vramwise_alloc(parts.length * PART_BYTES) >>> 0;
      given.push(table);
      const view = new DataView(memory.buffer);
      parts.forEach((part, i) => {
        const at = table + i * PART_BYTES;
        view.setBigUint64(at, BigInt(part.offset), true);
        view.setUint32(at + 8, places[i]!, true);
        view.setUint32(at + 12, part.bytes.length, true);
        view.setUint32(at + 16, part.blob, true);
      });
      output = core.vramwise_handle_parts(given[0]!, bytes.length, table, parts.length) >>> 0;
    }
    for (const pointer of given) core.vramwise_free(pointer);
    if (output === 0) throw new Error('the core has no memory left');
    const length = new DataView(memory.buffer).getUint32(output, true);
    const answer = decoder.decode(new Uint8Array(memory.buffer, output + 4, length));
    core.vramwise_free(output);
    return answer;
  }
  return { handle };
}
