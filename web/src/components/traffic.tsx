// The answer under real traffic: how many people beside the worst case, how fast, at what cost, what limits.
import type { ComponentChildren } from 'preact';
import { Timeline } from '../charts/timeline';
import type { Simulated } from '../core/types';
import { edit } from '../state/actions';
import { workloads } from '../state/catalog';
import { stopSimulation } from '../state/simulate';
import { set, use } from '../state/store';
import { asksForTraffic, withPreset } from '../state/traffic';
import { capital, grouped } from '../text/format';
import { dollars, rate, seconds, share } from '../text/seconds';
import { Figure } from './figure';
import { Term } from './term';

export function TrafficAnswer() {
  const request = use((state) => state.request);
  const load = use((state) => state.load);
  const asked = request !== undefined && asksForTraffic(request);
  return (
    <section class="sec" aria-labelledby="h-traffic" id="traffic-answer">
      <div class="sech">
        <h2 id="h-traffic">Under real traffic</h2>
        <p role="status">{asked && load?.busy ? (load.answered && load.first ? 'A first look at few requests; the whole run goes on.' : 'Simulating…') : load?.stopped ? 'Stopped early.' : ''}</p>
        {asked && (
          <div class="end">
            {load?.busy && <button class="btn sm" id="stop-load" onClick={stopSimulation}>Stop</button>}
            <button class="btn sm" aria-label="Leave out: real traffic" onClick={() => edit((current) => withPreset(current, ''))}>Leave out</button>
          </div>
        )}
      </div>
      {!asked ? <Offer /> : load?.error ? <Fault message={load.error.message} where={load.error.where} hints={load.error.hints} /> : load?.answered ? (
        <div class={load.busy && !load.first ? 'stale' : ''} aria-busy={load.busy}>
          <Figures s={load.answered} first={load.first === true} />
          {load.answered.throughput.requests_per_second > 0 && <div class="pair below">
            <Figure id="timeline" title="Cache in use over time" picture={<Timeline simulated={load.answered} />} table={<TimelineTable s={load.answered} />}
              legend={<><span><svg width="18" height="10" aria-hidden="true"><rect width="18" height="10" fill="var(--kv)" fill-opacity=".35" /></svg>least to most</span><span><svg width="18" height="8" aria-hidden="true"><path d="M0 4h18" stroke="var(--text)" stroke-width="1.5" /></svg>mean</span><span>100 % is the whole cache pool</span></>} />
            <Latencies s={load.answered} />
          </div>}
          <Small s={load.answered} notes={(load.notes ?? []).map((note) => note.text)} />
        </div>
      ) : <p class="muted">Simulating…</p>}
    </section>
  );
}

/** What the presets are called on a button. */
const SHORT: Record<string, string> = { chat: 'Chat', code: 'Code completion', reasoning: 'Reasoning', agent: 'Agents', 'long-chat': 'Long documents' };

const Offer = () => (
  <>
    <p class="muted">The plan takes every user at full length at once. People send shorter requests, and not all at the same time. Ask with:</p>
    <div class="offer below">
      {workloads.filter(([id]) => id in SHORT).map(([id, name]) => (
        <button class="btn" key={id} data-workload={id} title={name} onClick={() => { set({ trafficOpen: true }); edit((current) => withPreset(current, id)); }}>{SHORT[id]}</button>
      ))}
      <button class="btn" onClick={() => document.getElementById('recording') ? document.getElementById('recording')!.click() : (set({ trafficOpen: true }), requestAnimationFrame(() => document.getElementById('recording')?.click()))}>Own recording…</button>
    </div>
  </>
);

function Fault({ message, where, hints }: { message: string; where: string | undefined; hints: string[] | undefined }) {
  return (
    <div class="err" id="traffic-error" role="alert">
      <b>error:</b> {message}
      {where && <div class="where">{`--> ${where}`}</div>}
      {hints?.map((hint) => <div class="where" key={hint}>help: {hint}</div>)}
    </div>
  );
}

const Cell = ({ name, id, value, unit, children }: { name: ComponentChildren; id?: string; value: string; unit?: string; children: ComponentChildren }) => (
  <div><dt>{name}</dt><dd id={id}>{value}{unit && <span class="u">{unit}</span>}<small>{children}</small></dd></div>
);

function Figures({ s, first }: { s: Simulated; first: boolean }) {
  const { users, goodput, cost, load, slo } = s;
  const overload = (load.load ?? 0) >= 1;
  // So far behind that nothing was finished while it was measured: its figures would all be zero.
  const drowned = overload && s.throughput.requests_per_second === 0;
  return (
    <>
      {overload && (
        <p class="say" data-o="does_not_fit" id="overload">
          <b class="vtext">Overloaded</b>: {rate(load.rate_per_second ?? 0)} requests/s arrive and {rate(load.saturation_rate_per_second)} are the most it can serve.
          {drowned ? ' Nothing was in time to be measured; ask for a lower rate.' : ' The queue grows for as long as this lasts, and the waits below with it.'}
        </p>
      )}
      <dl class="limits traffic">
        <Cell name={<Term word="Users under this traffic" />} id="users-p99" value={grouped(users.p99)}>at p99 of occupancy; {grouped(users.p95)} at p95, {grouped(users.p50)} at p50{s.servers && `; on ${grouped(s.servers.count)} servers`}</Cell>
        <Cell name="Worst case" id="users-worst" value={users.worst_case === undefined ? 'not known' : grouped(users.worst_case)}>
          if all took {grouped(users.worst_case_tokens ?? 0)} tokens{users.worst_case_at_p99_length !== undefined && `; ${grouped(users.worst_case_at_p99_length)} at the p99 length`}
        </Cell>
        {goodput ? (
          <Cell name={<Term word="Within the promise" />} id="goodput" value={goodput.rate_per_second > 0 ? rate(goodput.rate_per_second) : 'none'} unit={goodput.rate_per_second > 0 ? 'requests/s' : ''}>
            {goodput.rate_per_second > 0 ? `${rate(goodput.low)} to ${rate(goodput.high)} over the bar of the step time` : 'no rate keeps it'}
          </Cell>
        ) : (
          <Cell name={load.kind === 'closed' ? 'People' : 'Rate'} id="goodput" value={load.kind === 'closed' ? grouped(load.users ?? 0) : load.rate_per_second ? rate(load.rate_per_second) : 'as recorded'} unit={load.rate_per_second && load.kind !== 'closed' ? 'requests/s' : ''}>
            {overload ? `more than the ${rate(load.saturation_rate_per_second)}/s that saturate it` : load.load !== undefined ? `${share(load.load)} of the ${rate(load.saturation_rate_per_second)}/s that saturate it` : `saturates at ${rate(load.saturation_rate_per_second)}/s`}
          </Cell>
        )}
        <Cell name={<Term word="Cost" text="A million answer tokens" />} id="cost" value={cost ? dollars(cost.usd_per_million_output_tokens) : 'no price'}>
          {cost ? `${dollars(cost.low)} to ${dollars(cost.high)}; ${dollars(cost.usd_per_million_tokens)} over prompts and answers` : 'give a price of your own'}
        </Cell>
        {!drowned && <>
        <Cell name={<Term word="First token" />} id="ttft" value={seconds(s.ttft_seconds.p50)}>p95 {seconds(s.ttft_seconds.p95)}, p99 {seconds(s.ttft_seconds.p99)}{within(s.ttft_seconds.p99_half_width, seconds)}</Cell>
        <Cell name={<Term word="Between tokens" />} id="itl" value={seconds(s.inter_token_seconds.p50)}>p95 {seconds(s.inter_token_seconds.p95)}, p99 {seconds(s.inter_token_seconds.p99)}</Cell>
        <Cell name="Throughput" id="throughput" value={rate(s.throughput.output_tokens_per_second)} unit="tokens/s">{rate(s.throughput.requests_per_second)}{within(s.throughput.half_width, rate)} requests/s, {rate(s.mean_running)} running at a time</Cell>
        <Cell name={<Term word="Limited by" />} id="limited-by" value={LIMITS[s.limited_by] ?? s.limited_by}>
          {s.waiting.share > 0 ? `${share(s.waiting.share)} of requests wait` : 'no request waits'}; {s.preemptions_per_1000 > 0 ? `${s.preemptions_per_1000.toFixed(s.preemptions_per_1000 < 10 ? 1 : 0)} of 1,000` : 'none'} preempted
        </Cell>
        </>}
      </dl>
      {slo && !first && !drowned && (
        <p class="say below" data-o={s.meets ? 'fits' : 'does_not_fit'}>
          <b class="vtext">{s.meets ? 'Keeps the promise' : 'Breaks the promise'}</b>: {share(slo.share)} of the requests at {load.kind === 'closed' ? 'this many people' : 'this rate'}
          {slo.ttft_seconds !== undefined && <>, first token within {seconds(slo.ttft_seconds)} for {share(slo.ttft_share ?? 0)}</>}
          {slo.tpot_seconds !== undefined && <>, each further within {seconds(slo.tpot_seconds)} for {share(slo.tpot_share ?? 0)}</>}; {share(slo.quantile)} are promised.
        </p>
      )}
    </>
  );
}

/** Half of the 95 % confidence interval over the repetitions; none after one run. */
const within = (half: number | undefined, text: (value: number) => string) => (half ? ` ± ${text(half)}` : '');

const LIMITS: Record<string, string> = { kv_cache: 'KV cache', max_sequences: 'sequences at once', 'nothing yet': 'nothing yet' };

function Latencies({ s }: { s: Simulated }) {
  const rows: [ComponentChildren, Simulated['ttft_seconds']][] = [
    ['Waiting in the queue', s.waiting.queue_seconds], ['First token', s.ttft_seconds], ['Between tokens', s.inter_token_seconds], ['Mean of each request', s.tpot_seconds],
  ];
  return (
    <section aria-labelledby="h-latencies">
      <div class="sech"><h2 id="h-latencies">How long a person waits</h2></div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Latencies, table">
        <table id="latencies">
          <thead><tr><th><span class="sr">What</span></th><th class="r">p50</th><th class="r">p95</th><th class="r">p99</th><th class="r hidesm">Mean</th></tr></thead>
          <tbody>{rows.map(([name, spread], i) => <tr key={i}><th scope="row">{name}</th><td class="r">{seconds(spread.p50)}</td><td class="r">{seconds(spread.p95)}</td><td class="r"><b>{seconds(spread.p99)}</b></td><td class="r muted hidesm">{seconds(spread.mean)}</td></tr>)}</tbody>
        </table>
        <table class="below">
          <thead><tr><th>{s.lengths.name === 'lognormal' ? 'Own lengths' : capital(s.lengths.name)}, tokens</th><th class="r">p50</th><th class="r">p95</th><th class="r">p99</th><th class="r hidesm">Mean</th></tr></thead>
          <tbody>{([['Prompt', s.lengths.prompt], ['Answer', s.lengths.output], ['Together', s.lengths.total]] as const).map(([name, spread]) => <tr key={name}><th scope="row">{name}</th><td class="r">{grouped(spread.p50)}</td><td class="r">{grouped(spread.p95)}</td><td class="r"><b>{grouped(spread.p99)}</b></td><td class="r muted hidesm">{grouped(spread.mean)}</td></tr>)}</tbody>
        </table>
      </div>
    </section>
  );
}

function TimelineTable({ s: { timeline } }: { s: Simulated }) {
  const every = Math.max(1, Math.ceil(timeline.mean.length / 12));
  return (
    <table>
      <thead><tr><th>After</th><th class="r">Mean</th><th class="r">Least</th><th class="r">Most</th><th class="r">Waiting</th></tr></thead>
      <tbody>
        {timeline.mean.map((value, i) => i % every === 0 && (
          <tr key={i}><td>{seconds((i + 0.5) * timeline.seconds_per_point)}</td><td class="r">{share(value)}</td><td class="r">{share(timeline.low[i]!)}</td><td class="r">{share(timeline.high[i]!)}</td><td class="r">{timeline.waiting[i]!.toFixed(1)}</td></tr>
        ))}
      </tbody>
    </table>
  );
}

function Small({ s, notes }: { s: Simulated; notes: string[] }) {
  const all = [s.caveat, s.lengths.note, ...notes].filter((note): note is string => note !== undefined);
  return (
    <>
      {all.length > 0 && <ul class="notes below">{all.map((note) => <li key={note}>{capital(note)}</li>)}</ul>}
      <p class="muted below small">
        {grouped(s.run.requests)} requests in {grouped(s.run.steps)} steps, {s.run.replications} repetitions{s.run.half_width_share ? ` until ± ${share(s.run.half_width_share)}` : ''}, seed {s.run.seed}.
        {s.servers && ` ${grouped(s.servers.count)} servers; ${s.servers.split ?? (s.servers.router === 'round_robin' ? 'requests go round in turns' : 'a request goes to the one with the fewest')}. Occupancy is of one of them.`}
        {s.lengths.source && ` Lengths: ${s.lengths.source}.`}
        {s.cost?.offer && ` Price: ${s.cost.offer} at $${s.cost.usd_per_hour.toFixed(2)} an hour, read ${s.cost.price_date}.`}
      </p>
    </>
  );
}
