// Files that somebody drops or picks. Only the ranges that the core asks for are read, here in the page;
// what it made of them becomes the question's model.
import { ask } from '../core/client';
import type { Part } from '../core/module';
import { takeRecording } from './recording';
import type { CoreError, Model } from '../core/types';
import { emptyRequest, toast } from './actions';
import { MOST_CONFIG, brokenJson, kindOf, takePaste } from './paste';
import { changeModel } from './planner';
import { withModel } from './request';
import { get, set } from './store';
import { size } from '../text/format';

// A text of this size is a log or a config; model files are larger or say so by their name.
const MOST_TEXT = 4 << 20;
// A longer recording is for `vramwise simulate`, which reads it piece by piece.
const MOST_RECORDING = 64 << 20;
// More than any header: a core that asks on and on is stopped.
const MOST_ROUNDS = 64;

let reading = 0;

export function stopReading(): void {
  ++reading;
  set({ file: undefined });
}

/** `recording`: picked as a recording of requests, whatever its name. */
export async function openFiles(list: Iterable<File>, recording = false): Promise<void> {
  const given = [...list];
  const files = given.filter((file) => file.size > 0);
  if (given.length === 0) return;
  if (files.length === 0) return refuse(empty(given[0]!));
  const turn = ++reading;
  const first = files[0]!;
  try {
    if (files.length === 1 && (recording || /\.(csv|tsv|jsonl|ndjson)$/i.test(first.name))) {
      if (first.size > MOST_RECORDING) return refuse(tooLarge(first, MOST_RECORDING, 'cut it, or give it to the command line: vramwise simulate MODEL --lengths FILE'));
      toast(takeRecording(first.name, await first.text()));
      return;
    }
    if (files.length === 1 && /\.(log|txt|out|sh|ya?ml|service)$/i.test(first.name) && first.size <= MOST_TEXT) {
      toast(await takePaste(await first.text()));
      return;
    }
    const config = files.find((file) => /^config.*\.json$/i.test(file.name));
    if (config && config.size > MOST_CONFIG) return refuse(tooLarge(config, MOST_CONFIG, "a model's own config.json takes some kilobytes"));
    // A request that this page saved comes back the same way, and a config under whatever name it was saved.
    if (files.length === 1 && /\.json$/i.test(first.name) && first.size <= MOST_TEXT) {
      const text = await first.text();
      const kind = kindOf(text);
      if (kind === 'trace') {
        toast(takeRecording(first.name, text));
        return;
      }
      const named = /^config\.json$|index\.json$/i.test(first.name); // the core names the place in these
      if (kind === 'request' || (kind === 'config' && !named)) {
        toast(await takePaste(text));
        return;
      }
      if (kind !== 'config' && !named) return refuse({ code: 'invalid_input', message: `${first.name}: ${brokenJson(text)}` });
    }
    const answer = await readHeader(files, turn);
    if (turn !== reading || !answer) return;
    if (answer.error) return refuse(answer.error);
    changeModel(withModel(get().request ?? emptyRequest(), answer.model));
    toast(`Read from ${files.length === 1 ? first.name : `${files.length} files`}`);
  } catch (error) {
    if (turn !== reading) return;
    refuse({ code: 'invalid_input', message: `${first.name} could not be read: ${String(error)}`, hints: ['it may have been moved or changed since it was picked'] });
  }
}

const refuse = (error: CoreError) => set({ file: undefined, error, plan: undefined });

const empty = (file: File): CoreError => ({
  code: 'invalid_input', message: `${file.name} is empty`, hints: ['its download may have failed; of a folder, drop the files in it'],
});

const tooLarge = (file: File, most: number, help: string): CoreError => ({
  code: 'too_large', message: `${file.name} is ${size(file.size)}; this page takes ${size(most)} of such a file`, hints: [help],
});

type Header = { model: Model; error?: undefined } | { error: CoreError };
type Reply = { need?: { blob: number; offset: number; bytes: number }; header?: { model: Model }; error?: CoreError };

async function readHeader(files: File[], turn: number): Promise<Header | undefined> {
  const named = files.map((file, blob) => ({ name: file.name, blob, size_bytes: file.size }));
  const single = files.length === 1 && !/\.json$/i.test(files[0]!.name);
  const model = single ? { ...named[0]! } : { files: named };
  const parts: Part[] = [];
  let read = 0;
  set({ file: { name: files[0]!.name, read, size: files[0]!.size } });
  for (let round = 0; round < MOST_ROUNDS; ++round) {
    const reply = (await ask<Reply>('search', { ask: 'header', model }, undefined, parts)) as Reply;
    if (turn !== reading) return undefined;
    if (reply.error) return { error: reply.error };
    if (reply.header) return { model: reply.header.model };
    const { need } = reply;
    const file = need && files[need.blob];
    if (!need || !file) break;
    const range = file.slice(need.offset, need.offset + need.bytes);
    parts.push({ blob: need.blob, offset: need.offset, bytes: new Uint8Array(await range.arrayBuffer()) });
    if (turn !== reading) return undefined;
    read += range.size;
    set({ file: { name: file.name, read, size: file.size } });
  }
  return { error: { code: 'invalid_input', message: `${files[0]!.name} has a header without end`, hints: ['drop the config.json instead'] } };
}
