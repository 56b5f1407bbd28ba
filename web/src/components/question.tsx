// The question: model, engine, weights, card, context, users, cache type, and the engine's options.
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Request } from '../core/types';
import { edit, nameOf } from '../state/actions';
import { gpuName, gpuShort, gpus } from '../state/catalog';
import { ENGINES, engineForm } from '../state/engines';
import { contextOf, countOf, optionOf, usersOf, withContext, withEngine, withHardware, withOption, withUsers, withVersion, withWeights } from '../state/request';
import { USER_STEPS, contextPosition, contextValue, userPosition, userValue } from '../state/scales';
import { use } from '../state/store';
import { GiB, gib1, grouped, parameters, tokens } from '../text/format';
import { DropRow } from './drop_row';
import { EngineOptions } from './engine_options';
import { LiveBar } from './live_bar';
import { ModelSearch } from './model_search';
import { Segmented } from './segmented';
import { Slider } from './slider';
import { Term } from './term';
import { TrafficFields } from './traffic_fields';

export function Question() {
  const request = use((state) => state.request);
  const [closed, setClosed] = useState(true);
  return (
    <aside class={`ask${closed ? ' closed' : ''}`} aria-label="Question">
      <div class="ask-scroll">
        <button class="askhead" aria-expanded={!closed} onClick={() => setClosed(!closed)}>
          <div>
            <b>{request ? `${nameOf(request)}, ${request.weights ?? 'as published'}` : 'No model yet'}</b>
            <small>{request ? summary(request) : 'Search, drop or paste one'}</small>
          </div>
          <span class="btn sm" aria-hidden="true">{closed ? 'Change' : 'Done'}</span>
        </button>
        <div>
          <ModelField request={request} />
          {request && <EngineFields request={request} />}
        </div>
        {request && <LoadFields request={request} />}
      </div>
      <LiveBar />
    </aside>
  );
}

const summary = (request: Request) =>
  `${countOf(request) > 1 ? `${countOf(request)} × ` : ''}${gpuShort(request.hardware.gpu)}, ${tokens(contextOf(request))} × ${usersOf(request)}, ${engineForm(request.engine.name).name}`;

function ModelField({ request }: { request: Request | undefined }) {
  const inspect = use((state) => state.inspect);
  return (
    <div class="f fold">
      <label for="model">Model</label>
      <ModelSearch name={request ? nameOf(request) : ''} id={inspect?.model.id ?? request?.model.ref} />
      <div class="facts">
        {request && inspect ? <Facts /> : <span>{request ? 'Not read yet' : 'No model yet'}</span>}
      </div>
      <DropRow />
    </div>
  );
}

/** The term for a kind of cache: "latent 512+64", "sliding 4096", … */
const cacheTerm = (kind: string) => (/^latent/.test(kind) ? 'MLA' : /^(sliding|chunked)/.test(kind) ? 'Sliding window' : /recurrent|state|conv/.test(kind) ? 'Recurrent' : '');

function Facts() {
  const { model, inspect } = use((state) => state.inspect)!;
  const kinds = new Map<string, number>();
  for (const run of inspect.cache_runs) kinds.set(run.cache, (kinds.get(run.cache) ?? 0) + run.layers);
  const caches = [...kinds].filter(([kind]) => kind !== 'full' || kinds.size > 1);
  return (
    <>
      <span>{parameters(model.parameters)} parameters</span>
      <span>{model.active_parameters < model.parameters ? <Term word="Mixture of experts" text={`${parameters(model.active_parameters)} active`} /> : 'dense'}</span>
      <span>{grouped(inspect.layers)} layers</span>
      {caches.length > 0 && <span>{caches.map(([kind, count], i) => <>{i > 0 && ', '}{grouped(count)} <Term word={cacheTerm(kind)} text={kind.replace(/_/g, ' ').replace(/^latent/, 'MLA')} /></>)}</span>}
      <span><Term word="KV cache" text={`${grouped(model.kv_bytes_per_token / 1024)} KiB a token`} /></span>
    </>
  );
}

function EngineFields({ request }: { request: Request }) {
  const form = engineForm(request.engine.name);
  return (
    <>
      <div class="f fold">
        <span class="lab" id="engine-label"><Term word="Engine" /></span>
        <Segmented id="engine" labelledby="engine-label" columns={3} value={form.id}
          values={ENGINES.map((engine) => [engine.id, engine.name])}
          onChange={(name) => edit((current) => withEngine(current, name))} />
      </div>
      <div class="f fold two">
        <Weights request={request} />
        <Version request={request} />
      </div>
      <Cards request={request} />
    </>
  );
}

function Weights({ request }: { request: Request }) {
  const sizes = use((state) => state.sizes);
  const plan = use((state) => state.plan);
  const form = engineForm(request.engine.name);
  const formats = [...form.formats];
  const chosen = request.weights ?? '';
  if (!formats.includes(chosen)) formats.unshift(chosen);
  const own = request.model.header ? 'of the file' : 'as published';
  const label = (format: string) => {
    const bytes = sizes[format] ?? (format === chosen ? plan?.model.tensor_bytes : undefined);
    const size = bytes ? `, ${gib1(bytes)} GiB` : '';
    if (format) return format + size;
    return format === chosen && plan ? `${plan.model.weights}${size}, ${own}` : `${own}${size}`;
  };
  return (
    <div>
      <label class="lab" for="weights"><Term word="Format" text="Weights" /></label>
      <select class="ctl" id="weights" value={chosen} onChange={(event) => {
        const format = event.currentTarget.value;
        edit((current) => withWeights(current, format));
      }}>
        {formats.filter((format) => format === chosen || format === '' || !Object.keys(sizes).length || format in sizes).map((format) => (
          <option key={format} value={format}>{label(format)}</option>
        ))}
      </select>
    </div>
  );
}

function focusOnce(element: HTMLElement | null): void {
  if (!element || element.dataset.seen) return;
  element.dataset.seen = '1';
  element.focus();
}

function Version({ request }: { request: Request }) {
  const [own, setOwn] = useState(false);
  const form = engineForm(request.engine.name);
  const chosen = request.engine.version ?? '';
  const take = (version: string) => edit((current) => withVersion(current, version.trim()));
  if (own) {
    return (
      <div>
        <label class="lab" for="version">Version</label>
        <input class="ctl" id="version" defaultValue={chosen} placeholder={form.versions[0] ?? ''} autocomplete="off" spellcheck={false}
          ref={focusOnce}
          onChange={(event) => take(event.currentTarget.value)} onBlur={() => setOwn(false)} />
      </div>
    );
  }
  const versions = chosen && !form.versions.includes(chosen) ? [chosen, ...form.versions] : form.versions;
  return (
    <div>
      <label class="lab" for="version">Version</label>
      <select class="ctl" id="version" value={chosen} onChange={(event) => {
        const { value } = event.currentTarget;
        if (value === 'own') setOwn(true);
        else take(value);
      }}>
        <option value="">newest</option>
        {versions.map((version) => <option key={version} value={version}>{version}</option>)}
        <option value="own">Other…</option>
      </select>
    </div>
  );
}

const COUNTS = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32];

/** Hundreds of cards: listed once, after the page has been painted with the chosen one. */
function useCardList() {
  const [painted, setPainted] = useState(false);
  useEffect(() => setPainted(true), []);
  return useMemo(() => painted && [...new Set(gpus.map((gpu) => gpu.group))].map((group) => (
    <optgroup key={group} label={group}>
      {gpus.filter((gpu) => gpu.group === group).map((gpu) => <option key={gpu.id} value={gpu.id}>{gpu.name}</option>)}
    </optgroup>
  )), [painted]);
}

function Cards({ request }: { request: Request }) {
  const { hardware } = request;
  const custom = hardware.gpu === undefined || hardware.total_bytes !== undefined;
  const [own, setOwn] = useState(custom);
  const list = useCardList();
  const count = countOf(request);
  const sized = custom || own;
  return (
    <div class="f fold">
      <label for="gpu"><Term word="Card" /></label>
      <div class="two">
        <select class="ctl" id="gpu" aria-label="Card" aria-keyshortcuts="g" value={hardware.devices ? 'devices' : (hardware.gpu ?? 'own')} onChange={(event) => {
          const gpu = event.currentTarget.value;
          setOwn(gpu === 'own');
          edit((current) => withHardware(current, gpu === 'own'
            ? { gpu: null, devices: null, total_bytes: current.hardware.total_bytes ?? 24 * GiB }
            : { gpu, devices: null, total_bytes: null, used_bytes: null }));
        }}>
          {hardware.devices && <option value="devices">Unequal cards</option>}
          {list}
          {hardware.gpu && hardware.gpu !== 'none' && (!list || !gpus.some((gpu) => gpu.id === hardware.gpu)) && <option value={hardware.gpu}>{gpuName(hardware.gpu)}</option>}
          <optgroup label="Other"><option value="own">Own size…</option><option value="none">No GPU, CPU only</option></optgroup>
        </select>
        <select class="ctl" id="count" aria-label="How many cards" value={String(count)} disabled={hardware.gpu === 'none'}
          onChange={(event) => {
            const wanted = Number(event.currentTarget.value);
            edit((current) => withHardware(current, { count: wanted, devices: null }));
          }}>
          {[...new Set([...COUNTS, count])].sort((a, b) => a - b).map((n) => <option key={n} value={n}>{n === 1 ? '1 card' : `${n} cards`}</option>)}
        </select>
      </div>
      {hardware.gpu !== 'none' && !hardware.devices && (
        <div class="sized">
          {sized && <Gib id="total" label="Memory, GiB" bytes={hardware.total_bytes} onChange={(bytes) => edit((current) => withHardware(current, { total_bytes: bytes }))} />}
          <Gib id="used" label="Used by others, GiB" bytes={hardware.used_bytes} onChange={(bytes) => edit((current) => withHardware(current, { used_bytes: bytes }))} />
        </div>
      )}
    </div>
  );
}

function Gib({ id, label, bytes, onChange }: { id: string; label: string; bytes: number | undefined; onChange(bytes: number | null): void }) {
  return (
    <div class="opt">
      <label for={id}>{label}</label>
      <input class="ctl" id={id} inputMode="decimal" autocomplete="off" placeholder="0" value={bytes ? String(+(bytes / GiB).toFixed(2)) : ''}
        onChange={(event) => {
          const size = Number(event.currentTarget.value.replace(',', '.'));
          onChange(size > 0 && size < 1e6 ? Math.round(size * GiB) : null);
        }} />
    </div>
  );
}

function LoadFields({ request }: { request: Request }) {
  const plan = use((state) => state.plan);
  const inspect = use((state) => state.inspect);
  const form = engineForm(request.engine.name);
  const context = contextOf(request);
  const users = usersOf(request);
  const modelLimit = inspect?.inspect.max_positions || 1048576;
  const most = Math.max(modelLimit, context);
  const cache = form.cacheOptions[0] ? optionOf(request, form.cacheOptions[0]) : undefined;
  const cacheTypes = form.cacheTypes.map(([label, value]): [string, string] => [value ?? '', label]);
  const other = typeof cache === 'string' && !cacheTypes.some(([value]) => value === cache) ? cache : undefined;
  return (
    <div>
      <Slider
        id="context" shortcut="c" label="Context per user" help={<Term word="Context per user" />} value={context}
        steps={Math.ceil(contextPosition(most))} toPosition={contextPosition} toValue={contextValue}
        ticks={[...[1024, 8192, 32768].filter((at) => at < most * 0.45), most].map((at) => [at, tokens(at)])}
        last={plan?.longest_sequence_tokens} least={256} most={most} text={grouped} spoken={(value) => `${grouped(value)} tokens`}
        caption={context === modelLimit ? 'model limit' : tokens(context) === grouped(context) ? 'tokens' : `${tokens(context)} tokens`}
        onChange={(value) => edit((current) => withContext(current, value))}
      />
      <Slider
        id="users" shortcut="u" label="Users at once" help={<Term word="Users at once" />} value={users}
        steps={USER_STEPS.length - 1} toPosition={userPosition} toValue={userValue}
        ticks={[1, 4, 16, 64, 512].map((at) => [at, String(at)])}
        last={plan?.users} least={1} most={100000} text={grouped} spoken={(value) => `${grouped(value)} users`}
        caption="at full length"
        onChange={(value) => edit((current) => withUsers(current, value))}
      />
      {form.cacheOptions.length > 0 && (
        <div class="f fold">
          <span class="lab" id="cache-label"><Term word="KV cache type" /></span>
          <Segmented id="cache" labelledby="cache-label" value={typeof cache === 'string' ? cache : ''}
            values={other ? [...cacheTypes, [other, other]] : cacheTypes}
            onChange={(value) => edit((current) => form.cacheOptions.reduce((next, name) => withOption(next, name, value || null), current))} />
        </div>
      )}
      <TrafficFields request={request} />
      <EngineOptions request={request} effective={plan?.engine.options} />
    </div>
  );
}
