// What was assumed, what to look at, and the foot of the page.
import type { Plan } from '../core/types';
import { set } from '../state/store';
import { capital } from '../text/format';

export function Notes({ plan }: { plan: Plan }) {
  return (
    <>
      {plan.warnings.length > 0 && (
        <section class="sec" aria-labelledby="h-warnings">
          <div class="sech"><h2 id="h-warnings">Look at this</h2></div>
          <ul class="notes">{plan.warnings.map((note, i) => <li key={i}>{capital(note.text)}</li>)}</ul>
        </section>
      )}
      <section class="sec" aria-labelledby="h-assumed">
        <div class="sech"><h2 id="h-assumed">Assumed</h2></div>
        <ul class="notes">
          <li>Every user holds a full context at once. A distribution of lengths usually admits more.</li>
          <li>Nothing else runs on the card beyond what is said beside it.</li>
          {plan.assumptions.map((note, i) => <li key={i}>{capital(note.text)}</li>)}
        </ul>
      </section>
    </>
  );
}

export const Foot = () => (
  <footer class="foot">
    <span>Runs in this page. Sends nothing.</span>
    <span>Vramwise __VRAMWISE_VERSION__</span>
    <span>Sizes in GiB, 2^30 bytes</span>
    <button class="link plain" id="all-terms" onClick={() => set({ term: '' })}>Terms</button>
    <button class="link plain" onClick={() => set({ help: true })}>Keys</button>
  </footer>
);
