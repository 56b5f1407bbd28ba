import { expect, test } from 'vitest';
import { USER_STEPS, contextPosition, contextValue, userPosition, userValue } from './scales';

test('every power of two of the context has a step of its own', () => {
  for (let tokens = 1024; tokens <= 2 ** 20; tokens *= 2) expect(contextValue(contextPosition(tokens))).toBe(tokens);
});

test('contexts grow with the position', () => {
  for (let p = 1; p < 160; ++p) expect(contextValue(p)).toBeGreaterThanOrEqual(contextValue(p - 1));
});

test('users go to their step and back', () => {
  for (const users of USER_STEPS) expect(userValue(userPosition(users))).toBe(users);
  expect(userPosition(7)).toBe(5.5);
  expect(userPosition(100000)).toBe(USER_STEPS.length - 1);
});
