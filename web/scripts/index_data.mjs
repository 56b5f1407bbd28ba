// What the page lists before anything is asked: models with their sizes, cards, engine options. Names come
// from catalog/, numbers of models from the core itself (ask inspect). One JSON text, packed by pack.mjs.
//
//   {models: [[id, family, parameters, active, cache bytes per token, stored format], …],
//    gpus:   [[id, name, group, GB], …],
//    workloads: [[id, name], …],
//    engines: {vllm: {releases: […], options: [[name, flag, type, choices, part, default, effect, until], …]}, …},
//
//    answers: [[question, answer], …] what the page asks first, as text
//
// index_data.mjs WASM QUESTIONS OUT

import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { load } from '../../tests/wasm/wasm_module.mjs';

const catalog = fileURLToPath(new URL('../../catalog/', import.meta.url));
const read = (path) => JSON.parse(readFileSync(join(catalog, path), 'utf8'));
const files = (kind) => readdirSync(join(catalog, kind)).filter((name) => name.endsWith('.json')).sort();

// Name of a repository → heading of the list. The first that matches counts; the order is the list's.
const families = [
  ['Llama', /llama|^meta-/i], ['Qwen', /qwen|qwq/i], ['gpt-oss', /gpt-oss/i], ['DeepSeek', /deepseek/i],
  ['Gemma', /gemma/i], ['Mistral', /mi[sx]tral|ministral|magistral|devstral|codestral|pixtral/i],
  ['GLM', /glm/i], ['Kimi', /kimi|moonshot/i], ['MiniMax', /minimax/i], ['Phi', /phi-?\d|phi-mini|phi\b/i],
  ['Nemotron', /nemotron/i], ['Granite', /granite/i], ['Command', /command|aya/i], ['Falcon', /falcon/i],
  ['OLMo', /olmo/i], ['Exaone', /exaone/i], ['ERNIE', /ernie/i], ['Yi', /\bYi-/], ['InternLM', /intern/i],
  ['Mamba and hybrids', /mamba|jamba|zamba|rwkv|bamba|lfm|plamo/i],
  ['Embedders', /bert|bge|embed|e5-|minilm|roberta/i],
];

const family = (id) => families.find(([, pattern]) => pattern.test(id))?.[0] ?? 'Others';

function models(handle) {
  const rows = [];
  for (const file of files('models')) {
    const entry = read(`models/${file}`);
    if (!entry.config && !entry.id) continue;
    const answer = JSON.parse(handle(JSON.stringify({ ask: 'inspect', model: { ref: entry.id } })));
    if (!answer.model || answer.model.parameters === 0) continue;
    const { parameters, active_parameters, kv_bytes_per_token, weights } = answer.model;
    rows.push([entry.id, family(entry.id), parameters, active_parameters === parameters ? 0 : active_parameters, kv_bytes_per_token, weights]);
  }
  const place = (name) => { const at = families.findIndex(([label]) => label === name); return at < 0 ? families.length : at; };
  return rows.sort((a, b) => place(a[1]) - place(b[1]) || a[0].localeCompare(b[0], 'en', { numeric: true }));
}

function gpuGroup({ id, vendor, unified_memory, name }) {
  if (vendor === 'apple') return 'Apple';
  if (vendor === 'amd') return 'AMD';
  if (vendor === 'intel') return 'Intel and others';
  if (vendor !== 'nvidia') return 'Intel and others';
  if (unified_memory) return 'NVIDIA, shared memory';
  if (/laptop/i.test(name)) return 'NVIDIA laptops';
  if (/^(rtx-(20|30|40|50)\d\d|gtx|titan)/.test(id) && !/ada/.test(id)) return 'NVIDIA GeForce';
  if (/^(rtx|quadro)/.test(id)) return 'NVIDIA workstation';
  return 'NVIDIA data centre';
}
const groups = [
  'NVIDIA data centre', 'NVIDIA GeForce', 'NVIDIA workstation', 'NVIDIA laptops', 'NVIDIA, shared memory', 'AMD', 'Apple',
  'Intel and others', 'NVIDIA, MIG slices',
];

function gpus() {
  const rows = files('gpus').flatMap((file) => {
    const gpu = read(`gpus/${file}`);
    const size = gpu.memory_marketing?.value;
    // "H100 SXM 80GB HBM3" and "B300 SXM6 (288GB)" → one spelling, the size at the end.
    const bare = gpu.name.replace(/\s*\(?\d+\s*GB\b.*$/, '').replace(/\s*\([^)]*$/, '').replace(/[-,\s]+$/, '') || gpu.name;
    const slices = (gpu.mig ?? []).map(({ profile }) => [`${gpu.id}:${profile}`, `${bare}, slice ${profile}`, 'NVIDIA, MIG slices', 0]);
    return [[gpu.id, size ? `${bare} ${size} GB` : bare, gpuGroup(gpu), size ?? 0], ...slices];
  });
  const natural = (a, b) => a.localeCompare(b, 'en', { numeric: true });
  return rows.sort((a, b) => groups.indexOf(a[2]) - groups.indexOf(b[2]) || natural(a[1], b[1]));
}

const MODEL_OPTIONS = new Set(['model', 'model_path', 'model_tag']); // the form asks for the model itself

function flagOf(row, words) {
  if (row.name.startsWith('env:')) return row.name.slice(4);
  if (row.flags?.length) return row.flags.find((flag) => flag.startsWith('--')) ?? row.flags[0];
  if (row.flags || row.name.includes('.')) return row.env?.[0] ?? row.name; // an environment variable, or a key of a file
  return '--' + (words === 'dash' ? row.name.replaceAll('_', '-') : row.name);
}

function engines() {
  const result = {};
  for (const id of ['vllm', 'sglang', 'trtllm', 'llamacpp', 'ollama']) {
    const table = read(`options/${id}.json`);
    const about = read(`options/${id}__about.json`).about;
    const options = table.options
      .filter((row) => row.memory && !MODEL_OPTIONS.has(row.name) && !row.fork)
      .map((row) => [
        row.name, flagOf(row, table.words), row.type ?? '', row.choices ?? 0, row.memory,
        about[row.name]?.default ?? '', about[row.name]?.effect ?? '', row.until ?? 0,
      ]);
    result[id === 'llamacpp' ? 'llama.cpp' : id] = { options };
  }
  return result;
}

const [wasm, questions, out] = process.argv.slice(2);
const { handle } = await load(wasm);
const workloads = files('workloads').map((file) => read(`workloads/${file}`)).map(({ id, name }) => [id, name]);
const { FIRST } = await import(pathToFileURL(questions).href);
const answers = FIRST.map((question) => [JSON.stringify(question), handle(JSON.stringify(question))]);
const index = { answers, models: models(handle), gpus: gpus(), workloads, engines: engines() };
writeFileSync(out, JSON.stringify(index));
console.log(`${basename(out)}: ${index.models.length} models, ${index.gpus.length} cards, ` +
  `${Object.values(index.engines).reduce((sum, engine) => sum + engine.options.length, 0)} options`);
