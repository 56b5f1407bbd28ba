// Real traffic in the question: what requests look like, when they come, what they are promised. Closed until
// asked for; without it every user holds a full context.
import { useRef, useState } from 'preact/hooks';
import type { JsonObject, Request, Traffic } from '../core/types';
import { edit } from '../state/actions';
import { workloads } from '../state/catalog';
import { openFiles } from '../state/files';
import { usersOf } from '../state/request';
import { set, use } from '../state/store';
import { OWN_LENGTHS, drafts, modeOf, withMode, withPreset, withTraffic, type Mode } from '../state/traffic';
import { Chevron } from './icons';
import { NumberField } from './number_field';
import { Segmented } from './segmented';
import { Term } from './term';

const MODES: [Mode, string][] = [['best', 'Highest rate'], ['rate', 'This rate'], ['users', 'People'], ['trace', 'As recorded']];

export function TrafficFields({ request }: { request: Request }) {
  const open = use((state) => state.trafficOpen);
  return (
    <details class="more fold" id="traffic" open={open} onToggle={(event) => set({ trafficOpen: event.currentTarget.open })}>
      <summary><Chevron />Real traffic<span class="hint">{summary(request.traffic)}</span></summary>
      {open && <Fields request={request} />}
    </details>
  );
}

function summary(traffic: Traffic | undefined): string {
  if (!traffic?.lengths && !traffic?.trace) return 'all at full length';
  return traffic.trace?.name ?? String(traffic.lengths?.name ?? 'own lengths');
}

function Fields({ request }: { request: Request }) {
  const { traffic } = request;
  const recording = use((state) => state.recording);
  const picker = useRef<HTMLInputElement>(null);
  const chosen = traffic?.trace ? 'trace' : String(traffic?.lengths?.name ?? (traffic?.lengths ? 'own' : ''));
  const choose = (name: string) => {
    if (name === 'own') edit((current) => withTraffic(withPreset(current, 'own'), { lengths: OWN_LENGTHS }));
    else if (name === 'trace' && recording) edit((current) => withTraffic(current, { trace: { name: recording.name }, lengths: undefined }));
    else edit((current) => withPreset(current, name));
  };
  return (
    <>
      <div class="f">
        <label for="lengths"><Term word="Lengths" /></label>
        <select class="ctl" id="lengths" value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
          <option value="">Every user at full length</option>
          {workloads.map(([id, name]) => <option key={id} value={id}>{name}</option>)}
          <option value="own">Own quantiles…</option>
          {(recording || traffic?.trace) && <option value="trace">{recording?.name ?? traffic!.trace!.name}</option>}
          {chosen !== '' && chosen !== 'own' && chosen !== 'trace' && !workloads.some(([id]) => id === chosen) && <option value={chosen}>{chosen}</option>}
        </select>
      </div>
      <div class="drop rec">
        <span>Drop a recording</span>
        <button class="btn quiet" id="recording-open" type="button" onClick={() => picker.current?.click()}>Open</button>
        <input type="file" id="recording" ref={picker} hidden tabIndex={-1} aria-label="Recording of requests" accept=".csv,.tsv,.jsonl,.ndjson,.json"
          onChange={(event) => {
            void openFiles([...(event.currentTarget.files ?? [])], true);
            event.currentTarget.value = '';
          }} />
      </div>
      {traffic?.trace && <Columns traffic={traffic} />}
      {chosen === 'own' && traffic?.lengths && <OwnLengths lengths={traffic.lengths} />}
      {chosen !== '' && <Arrivals traffic={traffic!} users={usersOf(request)} />}
      {chosen !== '' && <Servers traffic={traffic!} drafting={drafts(request)} />}
    </>
  );
}

/** Names of a foreign CSV's columns: asked for once the core does not find its own. */
function Columns({ traffic }: { traffic: Traffic }) {
  const missing = use((state) => (/column/.test(state.load?.error?.message ?? '') ? state.load!.error!.message : ''));
  const { trace } = traffic;
  const [typed, setTyped] = useState<Record<'prompt' | 'output' | 'arrival', string>>({ prompt: '', output: '', arrival: '' });
  if (!trace || (!missing && !trace.columns)) return null;
  const now = { ...typed, ...trace.columns };
  const take = (name: keyof typeof typed, value: string) => {
    const next = { ...now };
    next[name] = value.trim();
    const { prompt, output, arrival } = next;
    setTyped({ prompt, output, arrival });
    if (prompt && output) edit((current) => withTraffic(current, { trace: { name: trace.name, columns: { prompt, output, ...(arrival && { arrival }) } } }));
  };
  return (
    <div class="f" id="columns">
      {([['prompt', 'Column of prompt tokens'], ['output', 'Column of answer tokens'], ['arrival', 'Column of times, optional']] as const).map(([name, label]) => (
        <div class="opt" key={name}>
          <label for={`column-${name}`}>{label}</label>
          <input class="ctl" id={`column-${name}`} autocomplete="off" spellcheck={false} value={now[name]} onChange={(event) => take(name, event.currentTarget.value)} />
        </div>
      ))}
    </div>
  );
}

function OwnLengths({ lengths }: { lengths: JsonObject }) {
  const part = (name: 'prompt' | 'output') => (lengths[name] ?? {}) as { p50?: number; p95?: number };
  const field = (name: 'prompt' | 'output', quantile: 'p50' | 'p95', label: string) => (
    <NumberField id={`own-${name}-${quantile}`} label={label} unit="tokens" value={part(name)[quantile]} least={1} most={1e6}
      onChange={(value) => value && edit((current) => withTraffic(current, { lengths: { ...lengths, [name]: pair({ ...part(name), [quantile]: Math.round(value) }, quantile) } }))} />
  );
  return (
    <div class="f">
      {field('prompt', 'p50', 'Half of the prompts below')}
      {field('prompt', 'p95', '95 % of the prompts below')}
      {field('output', 'p50', 'Half of the answers below')}
      {field('output', 'p95', '95 % of the answers below')}
    </div>
  );
}

/** The two stay in order: the one that was not typed gives way. */
function pair(values: { p50?: number; p95?: number }, typed: 'p50' | 'p95'): { p50: number; p95: number } {
  const { p50 = 1, p95 = p50 } = values;
  return p95 >= p50 ? { p50, p95 } : typed === 'p50' ? { p50, p95: p50 } : { p50: p95, p95 };
}

function Arrivals({ traffic, users }: { traffic: Traffic; users: number }) {
  const mode = modeOf(traffic);
  const arrivals = traffic.arrivals ?? {};
  const modes = MODES.filter(([id]) => id !== 'trace' || traffic.trace);
  const change = (patch: JsonObject) => edit((current) => withTraffic(current, { arrivals: { ...arrivals, ...patch } }));
  const value = (name: string) => (typeof arrivals[name] === 'number' ? (arrivals[name] as number) : undefined);
  return (
    <>
      <div class="f">
        <span class="lab" id="arrivals-label"><Term word="Arrivals" /></span>
        <Segmented id="arrivals" labelledby="arrivals-label" columns={3} value={mode} values={modes}
          onChange={(next) => edit((current) => withMode(current, next, users))} />
        {mode === 'rate' && <NumberField id="rate" label="Requests a second" value={value('rate_per_second')} least={1e-4} most={1e5} onChange={(rate) => rate && change({ rate_per_second: rate })} />}
        {mode === 'users' && <NumberField id="people" label="People at once" value={value('users')} least={1} most={1e5} onChange={(count) => count && change({ users: Math.round(count) })} />}
        {mode === 'users' && <NumberField id="think" label="Pause between requests" unit="s" value={value('think_seconds')} least={0} most={1e5} onChange={(seconds) => change({ think_seconds: seconds ?? 0 })} />}
        {mode === 'trace' && <NumberField id="speedup" label="Played faster by" value={value('speedup')} least={0.01} most={1000} onChange={(factor) => change({ speedup: factor ?? 1 })} />}
      </div>
      <Promise traffic={traffic} />
    </>
  );
}

/** More than one server, and how well drafts are guessed. */
function Servers({ traffic, drafting }: { traffic: Traffic; drafting: boolean }) {
  const { replicas, router, acceptance } = traffic;
  const change = (patch: Partial<Record<'replicas' | 'acceptance', number | undefined>> & { router?: string | undefined }) => edit((current) => withTraffic(current, patch));
  return (
    <div class="f">
      <NumberField id="replicas" label="Servers like this" value={replicas} least={1} most={1024} placeholder="1"
        onChange={(count) => change(count && Math.round(count) > 1 ? { replicas: Math.round(count) } : { replicas: undefined, router: undefined })} />
      {replicas !== undefined && (
        <Segmented id="router" label="Router" columns={2} value={router ?? 'least_requests'} values={[['least_requests', 'To the idlest'], ['round_robin', 'In turns']]}
          onChange={(next) => change({ router: next === 'least_requests' ? undefined : next })} />
      )}
      {(drafting || acceptance !== undefined) && (
        <NumberField id="acceptance" label="Drafted tokens accepted" unit="%" value={acceptance === undefined ? undefined : +(acceptance * 100).toFixed(2)} least={0} most={100} placeholder="none drafted"
          onChange={(percent) => change({ acceptance: percent === undefined ? undefined : percent / 100 })} />
      )}
    </div>
  );
}

function Promise({ traffic }: { traffic: Traffic }) {
  const { slo } = traffic;
  const change = (patch: { [K in keyof NonNullable<Traffic['slo']>]?: number | undefined }) => edit((current) => {
    const next = { ...current.traffic?.slo, ...patch };
    for (const key of Object.keys(next) as (keyof typeof next)[]) if (next[key] === undefined) delete next[key];
    const promises = next.ttft_seconds !== undefined || next.tpot_seconds !== undefined;
    return withTraffic(current, { slo: promises ? (next as NonNullable<Traffic['slo']>) : undefined });
  });
  const ms = slo?.tpot_seconds === undefined ? undefined : +(slo.tpot_seconds * 1000).toFixed(3);
  const percent = slo?.quantile === undefined ? undefined : +(slo.quantile * 100).toFixed(2);
  return (
    <div class="f">
      <span class="lab"><Term word="Promise" /></span>
      <NumberField id="slo-ttft" label="First token within" unit="s" value={slo?.ttft_seconds} least={0.001} most={1e4} placeholder="none" onChange={(seconds) => change({ ttft_seconds: seconds })} />
      <NumberField id="slo-tpot" label="Each further within" unit="ms" value={ms} least={0.01} most={1e6} placeholder="none" onChange={(value) => change({ tpot_seconds: value === undefined ? undefined : value / 1000 })} />
      <NumberField id="slo-quantile" label="For this share of requests" unit="%" value={percent} least={1} most={99.99} placeholder="95" onChange={(value) => slo && change({ quantile: value === undefined ? undefined : value / 100 })} />
      <NumberField id="price" label="Own price of the machine" unit="$ an hour" value={traffic.price_per_hour} least={1e-4} most={1e5} placeholder="list" onChange={(price) => edit((current) => withTraffic(current, { price_per_hour: price }))} />
    </div>
  );
}
