// What is asked first about a request. Pure, because the build asks the same about the first example.
import type { Request } from '../core/types';
import { PRESETS } from './presets';
import { planned } from './traffic';

/** A plan without the search for changes: what is shown at once. */
export const planQuestion = (request: Request) => ({ ...planned(request), levers: false });
export const inspectQuestion = (request: Request) => ({ ask: 'inspect', model: request.model });

/** Answered by the build (scripts/index_data.mjs), so that the page opens with the core's answer before the core. */
export const FIRST = PRESETS.slice(0, 1).flatMap(({ request }) => [planQuestion(request), inspectQuestion(request)]);
