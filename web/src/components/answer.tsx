// The answer, top to bottom: verdict, bar, parts, limits, changes, ledger, pictures, cards, log and command.
import { useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { bars } from '../charts/bar_data';
import { MemoryBars } from '../charts/bar';
import { need } from '../core/pictures';
import type { Plan, Reading, Request } from '../core/types';
import { set, use } from '../state/store';
import { gib1 } from '../text/format';
import { limitText } from '../text/verdict';
import { Cards } from './cards';
import { Ledger } from './ledger';
import { Levers } from './levers';
import { LogAndCommand } from './log_and_command';
import { Foot, Notes } from './notes';
import { Limits, Parts } from './parts';
import { Pictures } from './pictures';
import { Pinned } from './pinned';
import { Segmented } from './segmented';
import { Empty, Loading, Message, Starting } from './states';
import { Verdict } from './verdict';
import { TrafficAnswer } from './traffic';
import { Verification } from './verification';

export function Answer() {
  const asked = use((state) => state.request !== undefined);
  const plan = use((state) => state.plan);
  const question = use((state) => state.question);
  const error = use((state) => state.error);
  const file = use((state) => state.file);
  const view = file ? <Loading file={file} /> : error ? <Message error={error} /> : plan && question && asked ? <Planned plan={plan} request={question} /> : asked ? <Starting /> : <Empty />;
  // A log is compared with the start that it tells of: it needs no plan of the question.
  return <main class="out" id="out" tabIndex={-1}>{view}{!file && (error || !plan) && <Verification />}</main>;
}

const READINGS: [Reading, string][] = [['need', 'Need'], ['reserve', 'Reserve'], ['peak', 'Peak']];

/** Once a first verdict is in the document; tests measure how long that takes. */
let shown = false;

function useFirstShown(): void {
  useLayoutEffect(() => {
    if (!shown) performance.mark('vramwise:verdict');
    shown = true;
  }, []);
}

/** The answer as it was last painted: what stands below the first screen follows one frame later, so that the page
 *  opens and a slider is answered with the verdict and the bar. undefined: none was painted yet. */
function usePainted(plan: Plan, request: Request): { plan: Plan; request: Request } | undefined {
  const [painted, setPainted] = useState<{ plan: Plan; request: Request }>();
  useEffect(() => setPainted({ plan, request }), [plan]);
  return painted;
}

function Planned({ plan, request }: { plan: Plan; request: Request }) {
  const chosen = use((state) => state.reading);
  const painted = usePainted(plan, request);
  const below = useMemo(() => painted && <Below {...painted} />, [painted]);
  useFirstShown();
  // Engines that take what they need and no more have one reading worth showing.
  const several = plan.primary_reading === 'reserve';
  const reading = several ? chosen : 'need';
  const cards = plan.devices.length;
  const totals = need(plan);
  const label = `Memory on the fullest card: weights ${gib1(totals.weights_bytes)}, activations ${gib1(totals.activations_bytes)}, runtime ${gib1(totals.runtime_bytes)}, KV cache ${gib1(totals.kv_cache_bytes)}; together ${gib1(totals.total_bytes)} GiB, ${limitText(plan, 'need')}.`;
  return (
    <>
      <Verdict plan={plan} request={request} />
      <div class="barhead">
        <span class="t">{cards > 1 ? `Memory on each of ${cards} cards` : cards === 1 ? 'Memory on the card' : 'Memory of the host'}</span>
        {several && <Segmented id="reading" small label="Reading" values={READINGS} value={reading} onChange={(value) => set({ reading: value })} />}
      </div>
      <MemoryBars bars={bars(plan, reading)} outcome={plan.outcome} limitText={limitText(plan, reading)} label={label} />
      <Parts plan={plan} reading={reading} />
      <Limits plan={plan} request={request} />
      {below}
    </>
  );
}

function Below({ plan, request }: { plan: Plan; request: Request }) {
  return (
    <>
      <Verification />
      <Levers plan={plan} />
      <TrafficAnswer />
      <Ledger plan={plan} />
      <Pictures plan={plan} request={request} />
      <Cards plan={plan} request={request} />
      <LogAndCommand plan={plan} />
      <Pinned />
      <Notes plan={plan} />
      <Foot />
    </>
  );
}
