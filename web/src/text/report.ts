// A plan as a text for others: Markdown, and the ledger as CSV.
import { limitOf, need } from '../core/pictures';
import type { Lever, Plan, Request } from '../core/types';
import { contextOf, usersOf } from '../state/request';
import { capital, gib2, grouped, plural, signed } from './format';

const cell = (value: string | number | undefined) => {
  const text = value === undefined ? '' : String(value);
  // A leading "=" would be a formula to a spreadsheet.
  const safe = /^[=+\-@\t]/.test(text) && typeof value === 'string' ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

export function ledgerCsv(plan: Plan): string {
  const head = 'device,component,item,bytes,low_bytes,high_bytes,basis,formula,source';
  const rows = plan.ledger.map((row) =>
    [row.device, row.component, row.item, row.bytes, row.low_bytes ?? row.bytes, row.high_bytes ?? row.bytes, row.basis, row.formula, row.source].map(cell).join(','));
  return [head, ...rows].join('\r\n') + '\r\n';
}

/** Names come from files and links: nothing of them may become markup. */
const plain = (text: string) => text.replace(/[\\`*_{}[\]<>|#]/g, (sign) => `\\${sign}`).replace(/\s+/g, ' ');

export function report(plan: Plan, request: Request, levers: Lever[]): string {
  const totals = need(plan);
  const lines = [
    `# ${plain(plan.model.id)}, ${plain(plan.model.weights)}, ${plain(plan.engine.name)}`, '',
    `**${plain(plan.answer)}.**`, '',
    `${plural(usersOf(request), 'user')} × ${grouped(contextOf(request))} tokens on ${plan.devices.length} × ${plain(plan.devices[0]?.gpu || 'a card')}.`, '',
    '| part | GiB |', '|---|---:|',
    `| weights | ${gib2(totals.weights_bytes)} |`, `| activations | ${gib2(totals.activations_bytes)} |`,
    `| runtime | ${gib2(totals.runtime_bytes)} |`, `| KV cache | ${gib2(totals.kv_cache_bytes)} |`,
    `| **needed** | **${gib2(totals.total_bytes)}** |`, `| limit | ${gib2(limitOf(plan))} |`, `| free | ${signed(limitOf(plan) - totals.total_bytes, gib2)} |`, '',
  ];
  if (plan.users !== undefined) lines.push(`Room for ${plural(plan.users, 'user')} at this length; longest context ${grouped(plan.longest_sequence_tokens ?? 0)} tokens.`, '');
  if (levers.length > 0) {
    lines.push('## What would help', '', '| change | option | frees, GiB | then |', '|---|---|---:|---|');
    for (const lever of levers) lines.push(`| ${plain(capital(lever.change))} | ${plain(lever.option ?? '')} | ${signed(lever.freed_bytes, gib2)} | ${lever.outcome.replaceAll('_', ' ')} |`);
    lines.push('');
  }
  if (plan.command) lines.push('## Command', '', '```', plan.command.replaceAll('```', ''), '```', '');
  if (plan.assumptions.length > 0) lines.push('## Assumed', '', ...plan.assumptions.map((note) => `- ${plain(note.text)}`), '');
  return lines.join('\n');
}
