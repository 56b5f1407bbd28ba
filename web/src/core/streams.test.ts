import { expect, test } from 'vitest';
import { join, split } from './streams';

const HEADER = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0];

/** A module of these bodies (locals and instructions, without the last `end`), with a section before and behind. */
function module(...bodies: number[][]): Uint8Array<ArrayBuffer> {
  const long = (n: number) => [n & 0x7f | 0x80, n >> 7]; // two bytes, as every length here needs or may take
  const code = bodies.flatMap((body) => [...(body.length < 0x7f ? [body.length + 1] : long(body.length + 1)), ...body, 0x0b]);
  return Uint8Array.from([...HEADER, 1, 4, 1, 0x60, 0, 0, 10, ...long(code.length + 1), bodies.length, ...code, 11, 2, 1, 0]);
}

const every = [
  2, 3, 0x7f, 1, 0x7e, // locals: three i32, one i64
  0x02, 0x40, 0x03, 0x7f, 0x04, 0x40, 0x05, 0x0b, 0x0c, 0, 0x41, 0x80, 0x80, 0x40, 0x0d, 1, 0x0b, 0x1a, 0x0b, // nested blocks
  0x20, 0, 0x0e, 2, 0, 1, 0x85, 0x01, // br_table with two targets and a default of two bytes
  0x20, 1, 0x20, 2, 0x6a, 0x21, 0, 0x22, 3, 0x23, 0, 0x24, 0, 0x10, 0x80, 0x01, 0x11, 0, 0,
  0x28, 2, 0x88, 0x27, 0x37, 3, 8, 0x3f, 0, 0x40, 0,
  0x42, 0x7f, 0x43, 1, 2, 3, 4, 0x44, 1, 2, 3, 4, 5, 6, 7, 8,
  0xfc, 2, 0xfc, 10, 0, 0, 0xfc, 11, 0, 0x1b, 0xa7, 0xc0, 0x00, 0x01, 0x0f,
];

test('a module comes back from its streams, byte for byte', () => {
  const long = [0, ...Array.from({ length: 40 }, () => [0x41, 5, 0x20, 9, 0x6a, 0x1a]).flat()];
  for (const whole of [module([0]), module(every), module(every, [0], long, every)]) {
    const streams = split(whole);
    expect(streams.length).toBeGreaterThan(4096);
    expect(join(streams)).toEqual(whole);
  }
});

test('operands lie beside their like', () => {
  const calls = Array.from({ length: 9 }, (_, k) => [0x10, 0x70 + k % 8, 0x1a]).flat();
  const streams = split(module([0, ...calls]));
  const text = String.fromCharCode(...streams);
  expect(text).toContain('\x10\x1a'.repeat(9) + '\x0b');
  expect(text).toContain('pqrstuvwp');
});

test('what is unknown stops the build instead of reaching a page', () => {
  expect(() => split(module([0, 0xfd, 12]))).toThrow('instruction 0xfd is not known');
  expect(() => split(module([0, 0xfc, 12, 0]))).toThrow('instruction 0xfc 12 is not known');
  expect(() => split(Uint8Array.from(HEADER))).toThrow('no code section');
});
