// Lines of the fits map: they run on cell edges, never through numbers. Everything left of and below a
// card's line is held by that card. Pure geometry.

/** For each context: how many of the users, from the fewest up, are held. `cells[u][c]`: is it held. */
export function held(cells: boolean[][]): number[] {
  const columns = cells[0]?.length ?? 0;
  return Array.from({ length: columns }, (_, c) => {
    const none = cells.findIndex((row) => !row[c]);
    return none < 0 ? cells.length : none;
  });
}

export interface Frame {
  left: number;
  top: number;
  wide: number; // of a cell
  tall: number;
  rows: number;
}

/** A step line through the tops of the columns; empty where it would lie on the frame. */
export function stepPath(tops: number[], { left, top, wide, tall, rows }: Frame): string {
  const y = (count: number) => top + (rows - count) * tall;
  let d = '';
  let last: number | undefined;
  tops.forEach((count, i) => {
    const x = left + i * wide;
    const here = y(count);
    if (last === undefined || last === top) d += `M${x.toFixed(1)} ${(last ?? here).toFixed(1)}`;
    if (last !== undefined && here !== last) d += `V${here.toFixed(1)}`;
    if (count > 0 && count < rows) d += `H${(x + wide).toFixed(1)}`;
    last = here;
  });
  return d;
}

/** Neither everything nor nothing: only then there is a line to draw. */
export const divides = (tops: number[], rows: number) => tops.some((count) => count > 0) && tops.some((count) => count < rows);
