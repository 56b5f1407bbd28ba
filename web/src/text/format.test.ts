import { describe, expect, test } from 'vitest';
import { GiB, capital, gib1, gib2, gibNear, grouped, modelName, parameters, parseCount, short, signed, size, tokens } from './format';

describe('counts people type', () => {
  test.each([
    ['64k', 65536], ['65536', 65536], ['65,536', 65536], ['1M', 1048576], ['1.5k', 1536], [' 8 K ', 8192],
    ['0', 0], ['', undefined], ['abc', undefined], ['-4', undefined], ['64kk', undefined], ['9e9', undefined],
    ['99999999999999999999', undefined],
  ])('%s', (text, value) => expect(parseCount(text)).toBe(value));
  test('written back', () => {
    expect(tokens(65536)).toBe('64k');
    expect(tokens(62208)).toBe('60.8k');
    expect(tokens(8000)).toBe('8,000');
    expect(tokens(512)).toBe('512');
  });
});

describe('sizes', () => {
  test('one and two decimals', () => {
    expect(gib1(39.62 * GiB)).toBe('39.6');
    expect(gib2(1)).toBe('< 0.01');
    expect(gib2(0)).toBe('0.00');
    expect(gibNear(0.74 * GiB)).toBe('0.74');
    expect(gibNear(39.62 * GiB)).toBe('39.6');
    expect(signed(-1.7 * GiB)).toBe('\u22121.7');
  });
  test('of a map cell', () => {
    expect(short(41.4 * GiB)).toBe('41');
    expect(short(9.96 * GiB)).toBe('10');
    expect(short(0.41 * GiB)).toBe('0.4');
    expect(short(1331 * GiB)).toBe('1.3T');
  });
  test('with a unit', () => {
    expect(size(8192)).toBe('8.0 KiB');
    expect(size(12)).toBe('12 bytes');
    expect(size(7.8 * 2 ** 20)).toBe('7.8 MiB');
  });
  test('grouped', () => expect(grouped(1234567)).toBe('1,234,567'));
  test('parameters', () => {
    expect(parameters(70553706496)).toBe('70.6 B');
    expect(parameters(671026419200)).toBe('671 B');
    expect(parameters(124439808)).toBe('124 M');
  });
});

test('names', () => {
  expect(modelName('meta-llama/Llama-3.1-70B')).toBe('Llama 3.1-70B'.replace('-', ' '));
  expect(modelName('Qwen/Qwen3-30B-A3B')).toBe('Qwen3 30B-A3B');
  expect(capital('store the cache')).toBe('Store the cache');
});
