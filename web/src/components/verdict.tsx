// The answer in one screen: word, number, sentence, next step, and what the engine itself will print.
import type { Lever, Plan, Request } from '../core/types';
import { pin, tryLever } from '../state/actions';
import { engineForm } from '../state/engines';
import { contextOf, usersOf } from '../state/request';
import { use } from '../state/store';
import { grouped } from '../text/format';
import { Headline, Sentence } from '../text/verdict';
import { Glyph, Icon, WORDS } from './icons';
import { Cards } from './levers';

export function Verdict({ plan, request }: { plan: Plan; request: Request }) {
  return (
    <section class="hero" data-o={plan.outcome} aria-label="Answer">
      <div>
        <p class="vword"><Glyph outcome={plan.outcome} />{WORDS[plan.outcome]}</p>
        <h1 tabIndex={-1}><Headline plan={plan} request={request} /></h1>
        <p class="say"><Sentence plan={plan} request={request} /></p>
        <p class="next"><NextStep plan={plan} request={request} /></p>
        {plan.engine_error && (
          <div class="enginesays">
            <b>What {engineForm(request.engine.name).name} {request.engine.version ?? ''} will print</b>
            {plan.engine_error}
          </div>
        )}
      </div>
      <div class="tools">
        <button class="btn" id="pin" aria-keyshortcuts="p" onClick={pin}><Icon name="pin" />Pin plan</button>
      </div>
    </section>
  );
}

function NextStep({ plan, request }: { plan: Plan; request: Request }) {
  const smallest = use((state) => state.smallest);
  const rows = use((state) => (state.of.levers === state.answers ? state.levers : undefined));
  if (plan.outcome === 'fits') {
    const users = plan.users ?? 0;
    const longest = plan.longest_sequence_tokens ?? 0;
    const moreUsers = users > usersOf(request);
    const moreContext = longest > contextOf(request);
    if (!moreUsers && !moreContext) return <>No room for another user at this length.</>;
    return (
      <>
        Room for {moreUsers ? <><b>{grouped(users)} users</b> at this length</> : 'no further user at this length'}
        {moreContext && <>, or <b>{grouped(longest)} tokens</b> for {usersOf(request) > 1 ? `these ${grouped(usersOf(request))}` : 'this one'}</>}.
      </>
    );
  }
  if (!rows) return <>Looking for the smallest change that fits…</>;
  const fitting = rows.map((row) => row.lever).filter((lever) => lever.outcome === 'fits');
  const [first, second] = fitting;
  const cards = smallest && <>The smallest cards that hold it: <Cards smallest={smallest} /></>;
  if (!first) return <>No change makes it fit here. {cards ?? 'A smaller format or more cards together will; see the table of cards.'}</>;
  if (!first.reaches) return <>No change holds all of it here. {cards} With less than asked: <Step lever={first} /></>;
  return (
    <>
      Smallest change that fits: <Step lever={first} />
      {second && <> Or <Step lever={second} /></>}
    </>
  );
}

/** With its full stop: a short one never stands alone on the next line. */
const Step = ({ lever }: { lever: Lever }) => (
  <span class={lever.change.length < 30 ? 'nw' : ''}><button class="link" onClick={() => tryLever(lever)}>{lever.change}</button>.</span>
);
