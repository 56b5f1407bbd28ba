// The paste box: a launch line fills the form, a config becomes the model, a plan file becomes the question;
// a startup log or a traceback goes to the core's "verify". Answers a sentence on what was taken.
import { ask } from '../core/client';
import type { Json, JsonObject, Launch, Request } from '../core/types';
import { grouped, size } from '../text/format';
import { emptyRequest } from './actions';
import { engineForm, takesGguf } from './engines';
import { checked } from './link';
import { change, changeModel } from './planner';
import { takeRecording } from './recording';
import { withModel } from './request';
import { get, set, type Verified } from './store';

export const UNDERSTOOD = 'A launch line, a config.json, a startup log, an out-of-memory traceback or a recording of requests.';

/** No model's config comes near; each question carries it. */
export const MOST_CONFIG = 1 << 20;

export type Kind = 'nothing' | 'trace' | 'config' | 'request' | 'json' | 'log' | 'line';

const LOG = /Traceback \(most recent call last\)|OutOfMemoryError|out of memory|KV cache (size|memory)|buffer size\s*=|load_tensors:|llm_load_tensors|Memory pool end|Loading safetensors|gpu_worker|^\S*\s*(INFO|WARNING|ERROR)\s/m;

// Columns and members of the recordings that docs/workload.md lists, in the first line.
const TRACE = /\b(prompt_tokens|output_tokens|ContextTokens|GeneratedTokens|Request tokens|input_length|input_lens)\b/;

export function kindOf(text: string): Kind {
  const clean = text.trim();
  if (clean === '') return 'nothing';
  const end = clean.indexOf('\n');
  const first = clean.slice(0, end < 0 ? 4096 : Math.min(end, 4096));
  if (TRACE.test(first) && (clean.startsWith('{') || /[,;\t]/.test(first)) && !/"(model|schema_version)"/.test(first)) return 'trace';
  if (clean.startsWith('{')) {
    try {
      const value = JSON.parse(clean) as JsonObject;
      if ('schema_version' in value || ('model' in value && 'hardware' in value)) return 'request';
      if ('model_type' in value || 'architectures' in value || 'hidden_size' in value || 'text_config' in value) return 'config';
      return 'json';
    } catch {
      return LOG.test(clean) ? 'log' : 'json';
    }
  }
  return LOG.test(clean) ? 'log' : 'line';
}

export async function takePaste(text: string): Promise<string> {
  const clean = text.trim();
  switch (kindOf(clean)) {
    case 'nothing': return UNDERSTOOD;
    case 'trace': return takeRecording('pasted recording', text);
    case 'config': {
      if (clean.length > MOST_CONFIG) return `This config takes ${size(clean.length)}; a model's own takes some kilobytes, and this page ${size(MOST_CONFIG)} at most.`;
      changeModel(withModel(get().request ?? emptyRequest(), { config: JSON.parse(clean) as JsonObject }));
      return 'Read as a config.json.';
    }
    case 'request': return takeRequest(clean);
    case 'json': return brokenJson(clean);
    case 'log': return takeLog(clean);
    case 'line': return takeLine(clean);
  }
}

function takeRequest(text: string): string {
  try {
    change(checked(JSON.parse(text)));
    return 'Read as a saved request.';
  } catch (error) {
    return `Not a request that can be planned: ${(error as Error).message}.`;
  }
}

export function brokenJson(text: string): string {
  try {
    JSON.parse(text);
  } catch (error) {
    return `Not valid JSON: ${(error as Error).message}`;
  }
  return 'This JSON is neither a config.json (no model_type) nor a request of ours (no model).';
}

async function takeLog(log: string): Promise<string> {
  // What the log does not say is the form's.
  const { request } = get();
  let answer = await ask<{ verify: Verified }>('search', { ask: 'verify', log });
  const lacking = (!answer.error && answer.verify.lacking) || [];
  if (lacking.length && request) {
    const again = await ask<{ verify: Verified }>('search', {
      ask: 'verify', log,
      ...(lacking.includes('hardware') && { hardware: request.hardware }),
      ...(lacking.includes('engine') && { engine: request.engine }),
      ...(lacking.includes('model') && { model: request.model, ...(request.weights && { weights: request.weights }) }),
    });
    if (!again.error) answer = again;
  }
  if (answer.error) {
    return answer.error.code === 'unsupported'
      ? 'This looks like a startup log or a traceback. This build cannot compare logs; paste the launch line instead.'
      : `${answer.error.message}${answer.error.hints?.length ? `; ${answer.error.hints[0]}` : ''}`;
  }
  set({ verified: answer.verify });
  requestAnimationFrame(() => document.getElementById('verified')?.scrollIntoView({ block: 'nearest' }));
  return `Read as a log of ${answer.verify.engine || 'a server'}: ${grouped(answer.verify.read.matched)} of ${grouped(answer.verify.read.lines)} lines say something about memory.`;
}

// An engine's own configuration names no program: it is read as the chosen engine's.
const CONFIGURED: Record<string, string> = {
  vllm: 'vllm serve --config pasted.yaml',
  sglang: 'sglang serve --config pasted.yaml',
  trtllm: 'trtllm-serve MODEL --extra_llm_api_options pasted.yaml',
};

async function configurationOf(text: string): Promise<Launch | undefined> {
  const line = /^[\w-]+:(\s|$)/m.test(text) && CONFIGURED[get().request?.engine.name ?? ''];
  if (!line) return undefined;
  const answer = await ask<{ launch: Launch }>('search', { ask: 'launch', line, files: { 'pasted.yaml': text } });
  if (answer.error || !Object.keys(answer.launch.options ?? {}).length) return undefined;
  const { model, ...launch } = answer.launch;
  return model && model !== 'MODEL' ? { ...launch, model } : launch;
}

async function takeLine(line: string): Promise<string> {
  const answer = await ask<{ launch: Launch }>('search', { ask: 'launch', line });
  if (answer.error) return `Not recognised: ${answer.error.message}. ${UNDERSTOOD}`;
  const launch = answer.launch.engine ? answer.launch : await configurationOf(line);
  if (!launch?.engine) return `Not recognised. ${UNDERSTOOD}`;
  change(fromLaunch(launch, get().request ?? emptyRequest()));
  const count = Object.keys(launch.options ?? {}).length;
  const unknown = (launch.unknown ?? []).length + (launch.ignored ?? []).length;
  return `Read ${launch.model ? 'the model and ' : ''}${count === 1 ? '1 option' : `${count} options`} of ${engineForm(launch.engine).name}` +
    (unknown ? `; ${grouped(unknown)} without effect on memory or unknown.` : '.');
}

const number = (value: Json | undefined) => (typeof value === 'number' && value > 0 ? value : undefined);

/** Context, users and count of cards move from the options to the form's own fields, where those mean the same. */
export function fromLaunch(launch: Launch, base: Request): Request {
  const engine = launch.engine === 'llamacpp' ? 'llama.cpp' : launch.engine!;
  const options: JsonObject = { ...launch.options };
  const workload = { ...base.workload };
  for (const name of ['max_model_len', 'context_length', 'max_seq_len']) {
    const length = number(options[name]);
    if (length && !takesGguf(engine)) {
      workload.sequence_tokens = length;
      delete options[name];
    }
  }
  if (engine === 'llama.cpp') {
    const slots = number(options.parallel) ?? 1;
    const cells = number(options.ctx_size);
    if (cells && cells % slots === 0 && !options.kv_unified) {
      workload.sequence_tokens = cells / slots;
      workload.concurrency = slots;
      delete options.ctx_size;
      delete options.parallel;
    }
  }
  const ranks = (number(options.tensor_parallel_size) ?? number(options.tp_size) ?? 1) *
    (number(options.pipeline_parallel_size) ?? number(options.pp_size) ?? 1);
  const hardware = ranks > 1 && !base.hardware.devices ? { ...base.hardware, count: ranks } : base.hardware;
  const sameFormat = takesGguf(engine) === takesGguf(base.engine.name);
  const { weights, ...rest } = base;
  const format = engineForm(engine).format;
  const ggufName = /[-._](I?Q\d\w*|BF16|F16)(?:[-.].*)?(?:\.gguf)?$/i.exec(launch.model ?? '')?.[1]?.toUpperCase();
  const kept = sameFormat && !launch.model ? weights : takesGguf(engine) ? (ggufName ?? format) : format;
  return {
    ...rest,
    ...(launch.model && { model: { ref: launch.model.replace(/^.*\/(?=[^/]*\.gguf$)/i, '').replace(/[-._](I?Q\d\w*|BF16|F16)(-\d+-of-\d+)?\.gguf$/i, '') } }),
    ...(kept && { weights: kept }),
    engine: { name: engine, ...(Object.keys(options).length && { options }), ...(launch.env && Object.keys(launch.env).length && { env: launch.env }) },
    hardware,
    workload,
  };
}
