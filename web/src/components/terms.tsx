// All terms with their explanations; opened at one of them by a click on the word anywhere in the page.
import { useEffect, useRef } from 'preact/hooks';
import { set, use } from '../state/store';
import { TERM_LIST } from '../state/terms';

const idOf = (word: string) => `term-${word.toLowerCase().replace(/\W+/g, '-')}`;

export function Terms() {
  const term = use((state) => state.term);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const box = dialog.current!;
    if (term === undefined) {
      if (box.open) box.close();
      return;
    }
    if (!box.open) box.showModal();
    const entry = term ? document.getElementById(idOf(term)) : null;
    entry?.scrollIntoView({ block: 'center' });
  }, [term]);
  return (
    <dialog id="terms" class="terms" aria-labelledby="h-terms" ref={dialog} onClose={() => set({ term: undefined })}>
      <h2 id="h-terms">Terms</h2>
      {term !== undefined && (
        <div class="list" tabIndex={0} role="region" aria-label="Terms and what they mean">
          {TERM_LIST.map(([group, terms]) => (
            <section key={group}>
              <h3>{group}</h3>
              <dl>{Object.entries(terms).map(([word, { text, more }]) => (
                <div key={word} id={idOf(word)} class={word === term ? 'here' : ''}>
                  <dt>{word}</dt><dd>{text}{more && <small> docs/{more}</small>}</dd>
                </div>
              ))}</dl>
            </section>
          ))}
        </div>
      )}
      <button class="btn ink" onClick={() => set({ term: undefined })}>Close</button>
    </dialog>
  );
}
