// A recording of requests becomes the lengths (and, where it has times, the arrivals) of the question.
import { emptyRequest } from './actions';
import { change } from './planner';
import { get, set } from './store';
import { DEFAULT_SLO, withTraffic } from './traffic';

/** Takes the text as it is: the core reads it and names the first fault with its line. */
export function takeRecording(name: string, text: string): string {
  const request = get().request ?? emptyRequest();
  set({ recording: { name, text }, trafficOpen: true });
  change(withTraffic(request, { trace: { name }, lengths: undefined, arrivals: undefined, slo: request.traffic ? request.traffic.slo : DEFAULT_SLO }));
  return `Taken as a recording: ${name}`;
}
