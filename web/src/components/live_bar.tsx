// Verdict and total at the bottom of the question (of the screen when narrow): a slider is seen from anywhere.
import { useEffect, useState } from 'preact/hooks';
import { Mini } from '../charts/mini';
import { useWidth } from '../charts/measure';
import { sketch } from '../state/planner';
import { use } from '../state/store';
import { gib1 } from '../text/format';
import { Glyph, WORDS } from './icons';

export function LiveBar() {
  const plan = use((state) => state.plan);
  const error = use((state) => state.error);
  const file = use((state) => state.file);
  const [ref, width] = useWidth<HTMLDivElement>(120);
  const away = useVerdictInView(plan !== undefined);
  if (!plan || file) {
    return (
      <div class={`live${away ? ' away' : ''}`} id="live" aria-live="polite" aria-atomic="true">
        <span /><span class="n">{file ? 'Reading…' : error ? 'No plan: see the message' : 'No plan yet'}</span>
        <div key="bar" class="bar" ref={ref} />
      </div>
    );
  }
  const small = sketch(plan);
  return (
    <div class={`live${away ? ' away' : ''}`} id="live" aria-live="polite" aria-atomic="true" data-o={plan.outcome}>
      <Glyph outcome={plan.outcome} />
      <span class="w">{WORDS[plan.outcome]}</span>
      <span class="n">{gib1(small.total)} of {gib1(small.limit)} GiB</span>
      <div key="bar" class="bar" ref={ref}>{width > 0 && <Mini sketch={small} width={width} height={14} max={Math.max(small.total, small.limit) * 1.02} />}</div>
    </div>
  );
}

/** On narrow screens the bar makes way while the verdict itself is in view. */
function useVerdictInView(ready: boolean): boolean {
  const [inView, setInView] = useState(false);
  useEffect(() => {
    const verdict = document.querySelector('.hero h1, .state h1');
    if (!verdict) return;
    const observer = new IntersectionObserver((entries) => setInView(entries.at(-1)!.isIntersecting));
    observer.observe(verdict);
    return () => observer.disconnect();
  }, [ready]);
  return inView;
}
