// The address holds the question, and a person moves through addresses: back, forward, a link, one edited by hand.
import type { Request } from '../core/types';
import { toHash } from './link';
import { get } from './store';

// The address that the question is of. Another one stands there from the moment it is gone to until its event has been
// heard: what is written in between would take the place of the question that was gone to.
let seen: string | undefined;

/** Puts the question into the address, in place of what stands there. */
export async function keepLink(request: Request): Promise<void> {
  const hash = await toHash(request);
  // The first verdict may be there before the page has been read to its end; the address waits for that.
  if (document.readyState !== 'complete') await new Promise((resolve) => addEventListener('load', resolve, { once: true }));
  if (get().request !== request || location.hash !== seen) return;
  history.replaceState(null, '', hash);
  seen = hash;
}

/** Opens every address that is gone to. `open` says whether it was a question; else the address becomes the plan's. */
export function followAddress(open: (hash: string) => Promise<boolean>): void {
  seen = location.hash;
  addEventListener('hashchange', async () => {
    const { hash } = location;
    const opened = await open(hash);
    seen = hash;
    const { request } = get();
    if (!opened && request) await keepLink(request);
  });
}
