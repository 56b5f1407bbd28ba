// Every option of the engine that moves memory, under the engine's own name. Closed until asked for; what was
// changed comes first and is counted.
import { useState } from 'preact/hooks';
import type { Json, Request } from '../core/types';
import { edit } from '../state/actions';
import { engineOptions, type OptionEntry } from '../state/catalog';
import { engineForm } from '../state/engines';
import { optionOf, optionValue, withOption } from '../state/request';
import { grouped } from '../text/format';
import { Chevron } from './icons';

// Shown without searching; the engine's main levers.
const MAIN: Record<string, string[]> = {
  vllm: ['gpu_memory_utilization', 'max_num_seqs', 'max_num_batched_tokens', 'tensor_parallel_size', 'pipeline_parallel_size', 'enforce_eager', 'block_size', 'enable_prefix_caching', 'quantization', 'cpu_offload_gb', 'enable_lora', 'max_loras'],
  sglang: ['mem_fraction_static', 'max_running_requests', 'chunked_prefill_size', 'tp_size', 'cuda_graph_max_bs', 'disable_cuda_graph', 'max_total_tokens', 'quantization', 'page_size'],
  trtllm: ['free_gpu_memory_fraction', 'max_batch_size', 'max_num_tokens', 'tensor_parallel_size', 'pipeline_parallel_size', 'tokens_per_block'],
  'llama.cpp': ['n_gpu_layers', 'ubatch_size', 'batch_size', 'flash_attn', 'split_mode', 'tensor_split', 'n_cpu_moe', 'kv_unified', 'swa_full', 'kv_offload', 'mmap', 'fit'],
  ollama: ['num_gpu', 'num_batch', 'flash_attention', 'num_parallel', 'gpu_overhead', 'sched_spread'],
};
const PARTS: Record<string, string> = {
  weights: 'Weights', kv: 'KV cache', activations: 'Activations', runtime: 'Runtime', limits: 'Limits', parallelism: 'Cards and ranks',
};

export function EngineOptions({ request, effective }: { request: Request; effective: Record<string, Json> | undefined }) {
  const [open, setOpen] = useState(false);
  const [search, setSearch] = useState('');
  const engine = request.engine.name;
  const form = engineForm(engine);
  const all = open ? engineOptions(engine).filter((option) => !form.cacheOptions.includes(option.name)) : [];
  const changed = changedNames(request, form.cacheOptions);
  return (
    <details class="more fold" id="more" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Chevron />Engine options
        <span class="hint">{changed.length ? `${changed.length} changed` : 'all at their defaults'}</span>
      </summary>
      {open && (
        <div id="options">
          {all.length > 14 && (
            <input class="ctl search" id="option-search" aria-label="Search engine options" placeholder={`Search ${grouped(all.length)} options`} value={search}
              autocomplete="off" spellcheck={false} onInput={(event) => setSearch(event.currentTarget.value)} />
          )}
          <OptionList request={request} all={all} search={search} changed={changed} effective={effective} />
        </div>
      )}
    </details>
  );
}

function changedNames(request: Request, hidden: string[]): string[] {
  const names: string[] = [];
  const walk = (value: Json, name: string) => {
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
      for (const [key, inner] of Object.entries(value)) walk(inner, name ? `${name}.${key}` : key);
    } else if (!hidden.includes(name)) {
      names.push(name);
    }
  };
  walk(request.engine.options ?? {}, '');
  return names.concat(Object.keys(request.engine.env ?? {}).map((name) => `env:${name}`));
}

interface ListProps {
  request: Request;
  all: OptionEntry[];
  search: string;
  changed: string[];
  effective: Record<string, Json> | undefined;
}

function OptionList({ request, all, search, changed, effective }: ListProps) {
  const [everything, setEverything] = useState(false);
  const known = new Set(all.map((option) => option.name));
  const extra: OptionEntry[] = changed.filter((name) => !known.has(name)).map((name) => ({
    name, flag: name.replace(/^env:/, ''), type: '', choices: undefined, part: 'limits', initial: '', effect: '', until: undefined,
  }));
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const list = [...extra, ...all];
  const main = MAIN[request.engine.name] ?? [];
  const shown = words.length
    ? list.filter((option) => words.every((word) => `${option.flag} ${option.effect}`.toLowerCase().includes(word)))
    : everything
      ? list
      : list.filter((option) => main.includes(option.name) || changed.includes(option.name))
          .sort((a, b) => main.indexOf(a.name) - main.indexOf(b.name));
  return (
    <>
      {shown.slice(0, 300).map((option, i) => [
        everything && !words.length && option.part !== shown[i - 1]?.part && <p class="optpart">{PARTS[option.part] ?? option.part}</p>,
        <Option key={option.name} option={option} request={request} set={changed.includes(option.name)} now={effective?.[option.name]} />,
      ])}
      {words.length > 0 && shown.length === 0 && <p class="muted optnone">No option of {engineForm(request.engine.name).name} by that name moves memory.</p>}
      {!words.length && list.length > shown.length && !everything && (
        <button class="link optall" type="button" onClick={() => setEverything(true)}>All {grouped(list.length)} options</button>
      )}
      {!words.length && everything && <button class="link optall" type="button" onClick={() => setEverything(false)}>Fewer</button>}
    </>
  );
}

const text = (value: Json | undefined): string =>
  value === undefined || value === null ? '' : typeof value === 'boolean' ? (value ? 'on' : 'off') : typeof value === 'object' ? JSON.stringify(value) : String(value);

function Option({ option, request, set, now }: { option: OptionEntry; request: Request; set: boolean; now: Json | undefined }) {
  const value = optionOf(request, option.name);
  const take = (typed: string) => edit((current) => withOption(current, option.name, optionValue(typed, option.type)));
  const about = [option.effect, option.initial && `default: ${option.initial}`, option.until && `until ${option.until}`].filter(Boolean).join('; ');
  const initial = text(now) || option.initial;
  const id = `option-${option.name}`;
  const listed = option.choices ?? (/bool|flag/.test(option.type) ? ['on', 'off'] : undefined);
  return (
    <div class={`opt${set ? ' set' : ''}`}>
      <label for={id} title={about}><code>{option.flag}</code></label>
      {listed ? (
        <select class="ctl" id={id} value={text(value)} title={about} onChange={(event) => take(event.currentTarget.value)}>
          <option value="">{short(initial) || 'default'}</option>
          {listed.filter((choice) => choice !== '').map((choice) => <option value={choice}>{choice}</option>)}
          {value !== undefined && !listed.includes(text(value)) && <option value={text(value)}>{text(value)}</option>}
        </select>
      ) : (
        <input class="ctl" id={id} value={text(value)} placeholder={short(initial)} title={about} autocomplete="off" spellcheck={false}
          onChange={(event) => take(event.currentTarget.value)} />
      )}
    </div>
  );
}

const short = (initial: string) => initial.split(/[;(]/)[0]!.trim().slice(0, 24);
