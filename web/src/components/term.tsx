// A word with its explanation: dotted underline, shown on hover and focus, hidden again by Esc; a click opens the
// list of terms at it.
import { useState } from 'preact/hooks';
import { set } from '../state/store';
import { TERMS } from '../state/terms';

export function Term({ word, text }: { word: string; text?: string }) {
  const tip = TERMS[word];
  const [hidden, setHidden] = useState(false);
  if (!tip) return <>{text ?? word}</>;
  return (
    <button
      type="button" class="term" data-tip={hidden ? undefined : tip} aria-label={`${text ?? word}: ${tip}`}
      onClick={() => set({ term: word })}
      onKeyDown={(event) => event.key === 'Escape' && setHidden(true)}
      onBlur={() => setHidden(false)} onPointerEnter={() => setHidden(false)}
    >
      {text ?? word}
    </button>
  );
}
