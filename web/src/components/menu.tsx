// A button with a list of choices below it. Esc and a click elsewhere close it.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface Choice {
  id: string;
  title: string;
  note?: string;
  run(): void;
}

export function Menu({ id, label, icon, choices }: { id: string; label: string; icon: ComponentChildren; choices: Choice[] }) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const close = (focus: boolean) => {
    setOpen(false);
    if (focus) button.current?.focus();
  };
  useEffect(() => {
    if (!open) return;
    root.current?.querySelector<HTMLElement>('.pop button')?.focus();
    const away = (event: PointerEvent) => !root.current?.contains(event.target as Node) && setOpen(false);
    document.addEventListener('pointerdown', away);
    return () => document.removeEventListener('pointerdown', away);
  }, [open]);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Escape') {
      event.stopPropagation();
      close(true);
    } else if (step) {
      event.preventDefault();
      const items = [...root.current!.querySelectorAll<HTMLElement>('.pop button')];
      const at = items.indexOf(document.activeElement as HTMLElement);
      items[(at + step + items.length) % items.length]?.focus();
    }
  };
  return (
    <div class="menu" ref={root} onKeyDown={open ? move : undefined}>
      <button class="btn quiet" id={id} ref={button} aria-expanded={open} aria-haspopup="true" onClick={() => setOpen(!open)}>
        {icon}
        <span class="tx">{label}</span>
        <span class="sr onlyicon">{label}</span>
      </button>
      {open && (
        <div class="pop">
          {choices.map((choice) => (
            <button key={choice.id} data-choice={choice.id} onClick={() => { close(true); choice.run(); }}>
              <b>{choice.title}</b>
              {choice.note && <small>{choice.note}</small>}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
