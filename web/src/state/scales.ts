// Positions of the two sliders. Context: sixteen steps an octave from 1k, rounded to 256 tokens. Users: a list.

export const contextPosition = (tokens: number) => Math.log2(Math.max(tokens, 1024) / 1024) * 16;

export function contextValue(position: number): number {
  return Math.max(1024, Math.round((1024 * 2 ** (position / 16)) / 256) * 256);
}

export const USER_STEPS = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 50, 64, 96, 128, 192, 256, 384, 512];

/** Between two steps for counts that are not in the list. */
export function userPosition(users: number): number {
  const above = USER_STEPS.findIndex((step) => step >= users);
  if (above < 0) return USER_STEPS.length - 1;
  const high = USER_STEPS[above]!;
  if (above === 0 || high === users) return above;
  const low = USER_STEPS[above - 1]!;
  return above - 1 + (users - low) / (high - low);
}

export const userValue = (position: number) => USER_STEPS[Math.round(position)] ?? 1;
