// What can be taken along: the request, the answer, the ledger, a report, the pictures.
import { askText } from '../core/client';
import { saveFile } from '../core/save';
import type { Choice } from '../components/menu';
import { picturesAsSvg, svgAsPng } from '../charts/save';
import { copy, nameOf, toast } from './actions';
import { ledgerCsv, report } from '../text/report';
import { get } from './store';
import { contract, planned } from './traffic';

const fileName = (suffix: string) => {
  const { request } = get();
  const name = request ? nameOf(request).replace(/[^A-Za-z0-9.]+/g, '-').toLowerCase() : 'plan';
  return `vramwise-${name}${suffix}`;
};

const asked = () => contract(get().request!, get().recording?.text);

async function withPlan(run: () => Promise<void> | void): Promise<void> {
  if (!get().plan) return toast('Nothing to export yet');
  await run();
}

export function exportChoices(): Choice[] {
  const choice = (id: string, title: string, note: string, run: () => Promise<void> | void): Choice =>
    ({ id, title, ...(note && { note }), run: () => void withPlan(run) });
  return [
    choice('request', 'Copy the request, JSON', 'Goes straight into vramwise plan --request -', () =>
      copy(JSON.stringify(asked(), null, 2), 'Request copied as JSON')),
    choice('request-file', 'Request as a file', 'vramwise plan --request FILE', () =>
      saveFile(fileName('.request.json'), 'application/json', JSON.stringify(asked(), null, 2) + '\n')),
    choice('json', 'Answer as JSON', 'As the command line gives it', async () =>
      saveFile(fileName('.json'), 'application/json', (await askText('search', planned(get().request!))) + '\n')),
    choice('csv', 'Ledger as CSV', '', () => saveFile(fileName('.csv'), 'text/csv', ledgerCsv(get().plan!))),
    choice('md', 'Report as Markdown', '', () => {
      const { plan, question, levers } = get();
      saveFile(fileName('.md'), 'text/markdown', report(plan!, question!, levers?.map((row) => row.lever) ?? []));
    }),
    choice('svg', 'Pictures as SVG', 'Bar, curve and map', () => saveFile(fileName('.svg'), 'image/svg+xml', picturesAsSvg())),
    choice('png', 'Pictures as PNG', '', async () => saveFile(fileName('.png'), 'image/png', await svgAsPng(picturesAsSvg()))),
  ];
}
