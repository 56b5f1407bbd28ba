import { expect, test } from 'vitest';
import { divides, held, stepPath } from './map_lines';

test('what is held, column by column, from the fewest users up', () => {
  expect(held([[true, true, true], [true, true, false], [true, false, false]])).toEqual([3, 2, 1]);
  expect(held([[false, false], [false, false]])).toEqual([0, 0]);
  // A hole ends the column: the line is a staircase.
  expect(held([[true], [false], [true]])).toEqual([1]);
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
