// The load of the question, simulated in a lane of its own: first a few requests for a first look, then all of
// them as the command line would. A newer question ends the run where it is.
import { ask } from '../core/client';
import type { Note, Request, Simulated } from '../core/types';
import { asksForTraffic, contract } from './traffic';
import { get, set } from './store';

/** Requests of each repetition of the first look. */
const FIRST_LOOK = 1000;

type Reply = { simulate: Simulated; assumptions: Note[]; warnings: Note[] };
let running: AbortController | undefined;

/** Ends a run; what it has answered so far stays in view. */
export function stopSimulation(): void {
  running?.abort();
  const { load } = get();
  if (load?.busy) set({ load: { ...load, busy: false, stopped: true } });
}

export function clearSimulation(): void {
  running?.abort();
  if (get().load) set({ load: undefined });
}

export async function simulate(request: Request, outer: AbortSignal): Promise<void> {
  running?.abort();
  if (!asksForTraffic(request)) return clearSimulation();
  const { recording } = get();
  if (request.traffic?.trace && !recording) {
    set({ load: { busy: false, error: { code: 'missing_field', message: `the recording ${request.traffic.trace.name} is not part of a link`, hints: ['drop the file on the page again'] } } });
    return;
  }
  const own = new AbortController();
  running = own;
  outer.addEventListener('abort', () => own.abort());
  const { signal } = own;
  // Older figures stay in view, dimmed, until the first look is there.
  set({ load: { ...get().load, error: undefined, busy: true, first: true, stopped: false } });
  const question = { ...contract(request), ask: 'simulate' };
  const text = request.traffic?.trace ? recording?.text : undefined;
  const { slo: _, ...bare } = question as Record<string, unknown>;
  for (const [first, asked] of [[true, { ...bare, count: FIRST_LOOK }], [false, question]] as const) {
    const answer = await ask<Reply>('load', asked, signal, undefined, text);
    if (answer.error) {
      set({ load: { busy: false, error: answer.error } });
      return;
    }
    const { simulate: answered, assumptions, warnings } = answer;
    set({ load: { answered, notes: [...warnings, ...assumptions], busy: first, first } });
  }
}
