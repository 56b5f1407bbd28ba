// What a person does, beyond changing one field.
import type { Lever, Request, Smallest } from '../core/types';
import { modelName, tokens, capital } from '../text/format';
import { gpuShort } from './catalog';
import { change, changeModel } from './planner';
import { contextOf, countOf, merge, usersOf, withModel } from './request';
import { get, set } from './store';
import { fromHash, toHash } from './link';

let toastTimer: ReturnType<typeof setTimeout> | undefined;

export function toast(text: string, undo?: Request): void {
  clearTimeout(toastTimer);
  set({ toast: { text, ...(undo && { undo }) } });
  toastTimer = setTimeout(() => set({ toast: undefined }), undo ? 8000 : 2600);
}

export function undo(): void {
  const back = get().toast?.undo;
  set({ toast: undefined });
  if (back) change(back);
}

/** Changes the request, keeping what else is in it. */
export function edit(update: (request: Request) => Request): void {
  const { request } = get();
  if (request) change(update(request));
}

export function chooseModel(ref: string): void {
  const { request } = get();
  changeModel(withModel(request ?? emptyRequest(), { ref }));
}

export const emptyRequest = (): Request => ({
  schema_version: 1, model: {}, engine: { name: 'vllm' }, hardware: { gpu: 'h100-sxm', count: 1 },
  workload: { sequence_tokens: 8192, concurrency: 1 },
});

export function tryLever(lever: Lever): void {
  const { request } = get();
  if (!request) return;
  change(merge(request, lever.set));
  toast(`Now: ${lever.change}`, request);
  // After the new answer is drawn, for who reads with the ears.
  requestAnimationFrame(() => document.querySelector<HTMLElement>('.hero h1')?.focus({ preventScroll: true }));
}

/** Other cards, with the options that spread the model over them. */
export function takeCards({ gpu, count, options }: Smallest): void {
  const { request } = get();
  if (!request) return;
  change(merge(request, { hardware: { gpu, count, total_bytes: null, used_bytes: null, devices: null }, engine: { options: options ?? {} } }));
  toast(`Now: ${count} × ${gpuShort(gpu)}`, request);
}

export async function copy(text: string, done: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(done);
  } catch {
    toast(fallbackCopy(text) ? done : 'Select and copy by hand: the browser refused');
  }
}

/** From file:// some browsers have no clipboard object; a selection can still be copied. */
function fallbackCopy(text: string): boolean {
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'sr';
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}

export async function copyLink(): Promise<void> {
  const { request } = get();
  if (!request) return toast('Nothing to share yet');
  const url = location.href.replace(/#.*$/, '') + (await toHash(request));
  await copy(url, 'Link copied: it carries this plan');
}

export async function openLink(hash: string): Promise<boolean> {
  try {
    const request = await fromHash(hash);
    if (!request) return false;
    change(request);
    return true;
  } catch {
    toast(get().request ? 'That link is damaged; the plan stays as it was' : 'That link is damaged; showing the first example');
    return false;
  }
}

const LETTERS = 'ABCD';

export function nameOf(request: Request): string {
  const { model } = request;
  const header = model.header?.['name'];
  const id = model.ref || get().plan?.model.id || (typeof header === 'string' ? header : '') || 'own model';
  return modelName(id);
}

export function noteOf(request: Request): string {
  const { weights, hardware, engine } = request;
  return `${weights ?? get().plan?.model.weights ?? 'as published'}, ${countOf(request)} × ${gpuShort(hardware.gpu)}, ${tokens(contextOf(request))} × ${usersOf(request)}, ${engine.name}`;
}

export function pin(): void {
  const { question: request, plan, pins } = get();
  if (!request || !plan) return toast('Nothing to pin yet');
  const kept = pins.length >= LETTERS.length ? pins.slice(1) : pins;
  set({ pins: [...kept, { request, plan, title: capital(nameOf(request)), note: noteOf(request) }] });
  toast(`Pinned as ${LETTERS[kept.length]}`);
}

export const unpin = (index: number) => set({ pins: get().pins.filter((_, i) => i !== index) });

export function setTheme(theme: 'system' | 'light' | 'dark'): void {
  const root = document.documentElement;
  root.dataset.choice = theme;
  root.dataset.theme = theme === 'system' ? (matchMedia('(prefers-color-scheme:dark)').matches ? 'dark' : 'light') : theme;
  try {
    localStorage.setItem('vramwise.theme', theme);
  } catch {
    // The choice lasts as long as the page.
  }
  set({ theme });
}

export const nextTheme = () => setTheme(({ system: 'light', light: 'dark', dark: 'system' } as const)[get().theme]);
