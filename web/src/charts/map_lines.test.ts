import { expect, test } from 'vitest';
import { divides, held, stepPath } from './map_lines';

const cells = [
  [10, 20, 30],
  [20, 40, 60],
  [40, 80, undefined],
];

test('what a card holds, column by column', () => {
  expect(held(cells, 40)).toEqual([3, 2, 1]);
  expect(held(cells, 5)).toEqual([0, 0, 0]);
  expect(held(cells, 1000)).toEqual([3, 3, 2]);
});

test('a step line on cell edges', () => {
  const frame = { left: 0, top: 0, wide: 10, tall: 10, rows: 3 };
  expect(stepPath([2, 1, 0], frame)).toBe('M0.0 10.0H10.0V20.0H20.0V30.0');
  expect(stepPath([3, 2, 1], frame)).toBe('M0.0 0.0M10.0 0.0V10.0H20.0V20.0H30.0');
});

test('no line on the frame', () => {
  expect(divides([0, 0], 3)).toBe(false);
  expect(divides([3, 3], 3)).toBe(false);
  expect(divides([3, 2], 3)).toBe(true);
});
