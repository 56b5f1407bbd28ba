import type { Plan } from '../core/types';
import { copy } from '../state/actions';
import { commandText, logLines, logText } from '../text/log';

export function LogAndCommand({ plan }: { plan: Plan }) {
  const lines = logLines(plan);
  const command = plan.command ? commandText(plan.command) : '';
  const stopped = lines.some((line) => line.mark === 'off');
  return (
    <div class="pair log sec">
      <section aria-labelledby="h-log" data-o={plan.outcome}>
        <div class="sech"><h2 id="h-log">What the log will say</h2>
          {lines.length > 0 && <div class="end"><button class="btn sm" aria-label="Copy the log lines" onClick={() => void copy(logText(plan), 'Copied')}>Copy</button></div>}
        </div>
        {lines.length > 0 ? (
          <pre class="code" id="log" tabIndex={0} aria-label="Predicted log lines">
            {lines.map((line, i) => (
              <span key={i} class={`ln ${line.mark ?? ''}`}>{line.before}{line.value && <b>{line.value}</b>}</span>
            ))}
          </pre>
        ) : <p class="muted">This engine prints no numbers about memory.</p>}
        {stopped && <p class="muted below">It stops at the marked line; the dim ones would have followed.</p>}
      </section>
      <section aria-labelledby="h-command">
        <div class="sech"><h2 id="h-command">Launch command</h2>
          {command && <div class="end"><button class="btn sm" aria-label="Copy the launch command" onClick={() => void copy(plan.command!, 'Command copied')}>Copy</button></div>}
        </div>
        {command ? <pre class="code" id="command" tabIndex={0} aria-label="Launch command">{command}</pre> : <p class="muted">No command for this question.</p>}
        <p class="muted below">{plan.outcome === 'fits' ? 'Only what differs from the engine’s defaults.' : 'As asked. Try a change above and this line follows.'}</p>
      </section>
    </div>
  );
}
