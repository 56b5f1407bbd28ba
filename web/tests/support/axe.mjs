// What axe-core finds, as one line a rule.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** In the whole page, or in the parts that selectors name. */
export async function violations(tab, within) {
  // Run through the debugger: the page's own policy lets no foreign script in.
  await tab.evaluate(axe);
  const { violations } = await tab.evaluate((within) => globalThis.axe.run(within ?? document, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  }), within);
  return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary?.split('\n')[1] ?? ''}`).join(' | ')}`);
}
