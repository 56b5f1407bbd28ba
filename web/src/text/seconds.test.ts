import { expect, test } from 'vitest';
import { dollars, rate, seconds, share } from './seconds';

test('durations in the unit that reads best', () => {
  expect([0, 0.00001, 0.0123, 0.25, 1.5, 42.04, 400, 9000].map(seconds)).toEqual(['0.0 ms', '< 0.1 ms', '12.3 ms', '250 ms', '1.50 s', '42.0 s', '6.7 min', '2.5 h']);
});
test('money, rates and shares', () => {
  expect([0.038, 0.24, 12.4].map(dollars)).toEqual(['$0.038', '$0.24', '$12.40']);
  expect([5, 13.888, 18163.1].map(rate)).toEqual(['5.00', '13.9', '18,163']);
  expect([0, 0.0001, 0.0057, 0.38, 1].map(share)).toEqual(['0 %', '< 0.1 %', '0.6 %', '38 %', '100 %']);
});
