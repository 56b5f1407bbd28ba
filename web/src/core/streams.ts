// The module as the page carries it: its instructions taken apart, because numbers pack better beside numbers of their
// own kind. One stream holds the opcodes, one each opcode's operands; those of the two commonest, local.get and
// i32.const, go by what comes next as well, since that tells a frame's address from a length. xz then makes a tenth
// less of the code than of the module itself. One walk over a body serves both ways, so that they cannot differ.
//
//   [number of functions][bytes in front of their bodies][length of each stream][length of the rest],
//   32 bits each, little-endian; behind them these bytes, in this order

type Bytes = Uint8Array<ArrayBuffer>;

const OPCODES = 0, LOCALS = 1; // neither opcode 0 nor 1 has an operand
const ALIGNMENTS = 256, GETS = 512, CONSTANTS = 768, STREAMS = 1024;
const CODE_SECTION = 10;
const LOCAL_GET = 0x20, I32_CONST = 0x41;

/** Moves the next item of a stream to where it belongs. */
interface Mover {
  bytes(stream: number, count: number): number; // answers the first of them
  integer(stream: number): number; // a LEB128; answers the number (of what is unsigned and below 2^28)
  /** The opcode behind an integer that is next to be moved. */
  following(): number;
}

function moveBody(mover: Mover): void {
  for (let runs = mover.integer(LOCALS); runs > 0; --runs) {
    mover.integer(LOCALS);
    mover.bytes(LOCALS, 1);
  }
  for (let depth = 1; depth > 0;) {
    const op = mover.bytes(OPCODES, 1);
    if (op === LOCAL_GET) mover.integer(GETS + mover.following());
    else if (op === I32_CONST) mover.integer(CONSTANTS + mover.following());
    else if (op >= 0x28 && op <= 0x3e) { // loads and stores
      mover.integer(ALIGNMENTS + op);
      mover.integer(op);
    } else if (op >= 0x02 && op <= 0x04) { // block, loop, if
      ++depth;
      mover.integer(op);
    } else if (op === 0x0b) --depth;
    else if (op === 0x0e) for (let targets = mover.integer(op); targets >= 0; --targets) mover.integer(op); // br_table
    else if (op === 0x43 || op === 0x44) mover.bytes(op, op === 0x43 ? 4 : 8); // f32.const, f64.const
    else if (op === 0xfc) { // conversions that saturate, memory.copy, memory.fill
      const which = mover.integer(op);
      if (which === 10 || which === 11) mover.bytes(op, which === 10 ? 2 : 1);
      else if (which > 7) throw new Error(`instruction 0xfc ${which} is not known to web/src/core/streams.ts`);
    } else if (op === 0x11) { // call_indirect
      mover.integer(op);
      mover.integer(op);
    } else if (op === 0x0c || op === 0x0d || op === 0x10 || (op >= 0x21 && op <= 0x24) || (op >= 0x3f && op <= 0x42)) {
      mover.integer(op); // br, br_if, call, local.set, local.tee, globals, memory.size, memory.grow, i64.const
    } else if (!(op <= 0x01 || op === 0x05 || op === 0x0f || op === 0x1a || op === 0x1b || (op >= 0x45 && op <= 0xc4))) {
      throw new Error(`instruction 0x${op.toString(16)} is not known to web/src/core/streams.ts`);
    }
  }
}

function readInteger(bytes: Uint8Array, at: number): { value: number; end: number } {
  let value = 0, shift = 0, byte: number;
  do {
    byte = bytes[at++]!;
    value |= (byte & 0x7f) << shift;
    shift += 7;
  } while (byte & 0x80);
  return { value, end: at };
}

/** For the build. `join` of it is the module again, byte for byte. */
export function split(module: Bytes): Bytes {
  let at = 8; // behind magic number and version
  let section = readInteger(module, at + 1);
  while (module[at] !== CODE_SECTION) {
    at = section.end + section.value;
    if (at >= module.length) throw new Error('the module has no code section');
    section = readInteger(module, at + 1);
  }
  const functions = readInteger(module, section.end);
  const head = functions.end;
  at = head;
  const streams: number[][] = Array.from({ length: STREAMS }, () => []);
  const mover: Mover = {
    bytes(stream, count) {
      const first = module[at]!;
      for (; count > 0; --count) streams[stream]!.push(module[at++]!);
      return first;
    },
    integer(stream) {
      const { value, end } = readInteger(module, at);
      mover.bytes(stream, end - at);
      return value;
    },
    following: () => module[readInteger(module, at).end]!,
  };
  for (let k = functions.value; k > 0; --k) {
    at = readInteger(module, at).end; // its length, which `join` counts
    moveBody(mover);
  }
  const lengths = Uint32Array.of(functions.value, head, ...streams.map((stream) => stream.length), module.length - at);
  const all = [new Uint8Array(lengths.buffer), module.subarray(0, head), ...streams.map((stream) => Uint8Array.from(stream)), module.subarray(at)];
  const out = new Uint8Array(all.reduce((sum, part) => sum + part.length, 0));
  all.reduce((to, part) => (out.set(part, to), to + part.length), 0);
  return out;
}

/** The module that was split. */
export function join(packed: Bytes): Bytes {
  const [functions, head, ...lengths] = new Uint32Array(packed.buffer, packed.byteOffset, STREAMS + 3) as Iterable<number> as [number, number, ...number[]];
  const start = 4 * (STREAMS + 3);
  // Where each stream is read next; the rest is the last of them.
  const next = new Uint32Array(STREAMS + 1);
  let at = start + head;
  lengths.forEach((length, k) => {
    next[k] = at;
    at += length;
  });
  const rest = packed.subarray(next[STREAMS]);
  const out = new Uint8Array(packed.length + 5 * functions); // all that is added are the lengths of the bodies
  out.set(packed.subarray(start, start + head));
  at = head;
  const mover: Mover = {
    bytes(stream, count) {
      const first = packed[next[stream]!]!;
      for (; count > 0; --count) out[at++] = packed[next[stream]!++]!;
      return first;
    },
    integer(stream) {
      let from = next[stream]!, value = 0, shift = 0, byte: number;
      do {
        byte = out[at++] = packed[from++]!;
        value |= (byte & 0x7f) << shift;
        shift += 7;
      } while (byte & 0x80);
      next[stream] = from;
      return value;
    },
    following: () => packed[next[OPCODES]!]!,
  };
  for (let k = functions; k > 0; --k) {
    const body = at;
    moveBody(mover);
    let length = at - body;
    const bytes: number[] = [];
    for (; length > 0x7f; length >>>= 7) bytes.push(length & 0x7f | 0x80);
    bytes.push(length);
    out.copyWithin(body + bytes.length, body, at);
    out.set(bytes, body);
    at += bytes.length;
  }
  out.set(rest, at);
  return out.subarray(0, at + rest.length);
}
