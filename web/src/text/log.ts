// The lines that the engine will print, as it prints them; the numbers are the answer's.
import type { LogLine, Plan } from '../core/types';
import { takesGguf } from '../state/engines';
import { GiB, MiB, grouped } from './format';

export interface PrintedLine {
  /** Before the number, the number with its unit, after it. */
  before: string;
  value: string;
  after?: string;
  /** "bad": here it stops; "off": would have followed. */
  mark?: 'bad' | 'off';
}

function bytes(value: number, mib: boolean): string {
  return mib ? `${(value / MiB).toFixed(2)} MiB` : `${(value / GiB).toFixed(2)} GiB`;
}

function printed(entry: LogLine, mib: boolean): PrintedLine {
  const value =
    entry.unit === 'bytes' ? bytes(entry.value, mib)
    : entry.unit === 'x' ? `${entry.value.toFixed(2)}x`
    : entry.unit === 'tokens' && !mib ? `${grouped(entry.value)} tokens`
    : String(entry.value);
  return { before: `${entry.line}${mib ? ' = ' : /\b(took)$/.test(entry.line) ? ' ' : ': '}`, value };
}

export function logLines(plan: Plan): PrintedLine[] {
  const mib = takesGguf(plan.engine.name);
  const lines = plan.log.map((entry) => printed(entry, mib));
  if (!plan.engine_error) return lines;
  const failure: PrintedLine = { before: plan.engine_error, value: '', mark: 'bad' };
  // Which line the failure stands before: the one whose size it names, else it comes last.
  const named = /([\d.]+) MiB/.exec(plan.engine_error)?.[1];
  const at = named ? lines.findIndex((line) => line.value === `${named} MiB`) : -1;
  if (at < 0) return [...lines, failure];
  return [...lines.slice(0, at), failure, ...lines.slice(at).map((line): PrintedLine => ({ ...line, mark: 'off' }))];
}

export const logText = (plan: Plan) => logLines(plan).map((line) => line.before + line.value).join('\n');

/** One option a line, as people paste it into a script. */
export function commandText(command: string): string {
  const words = command.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  const lines: string[] = [];
  for (const word of words) {
    if (lines.length > 0 && word.startsWith('-')) lines.push(word);
    else if (lines.length === 0) lines.push(word);
    else lines[lines.length - 1] += ` ${word}`;
  }
  return lines.join(' \\\n    ');
}
