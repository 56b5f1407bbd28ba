// When there is no plan: nothing asked yet, a header being read, a message.
import type { CoreError } from '../core/types';
import { edit } from '../state/actions';
import { stopReading } from '../state/files';
import { change } from '../state/planner';
import { PRESETS } from '../state/presets';
import { use, type FileProgress } from '../state/store';
import { size } from '../text/format';
import { Foot } from './notes';

export const Empty = () => (
  <>
    <section class="state">
      <h1>Will it fit?</h1>
      <p>Name a model and a card, or drop a config.json, a GGUF or a safetensors file. Only the header is read, and it stays in this page.</p>
      <Examples />
    </section>
    <Foot />
  </>
);

const Examples = () => (
  <div class="eg">
    {PRESETS.map((preset) => (
      <button key={preset.id} onClick={() => change(preset.request)}><b>{preset.title}</b><span>{preset.note}</span></button>
    ))}
  </div>
);

export const Starting = () => (
  <section class="state" aria-busy="true" aria-label="Starting">
    <div class="skel big" /><div class="skel" /><div class="skel" /><div class="skel bar" /><div class="skel" />
  </section>
);

export function Loading({ file }: { file: FileProgress }) {
  return (
    <section class="state" aria-busy="true">
      <h1>Reading the header</h1>
      <p class="mono name">{file.name}</p>
      <div class="prog"><i /></div>
      <p class="small">{size(file.read)} of a file of {size(file.size)}. Nothing is uploaded.</p>
      <button class="btn" onClick={stopReading}>Stop</button>
    </section>
  );
}

const HEADINGS: Record<string, string> = {
  inconsistent: 'This model contradicts itself',
  not_found: 'Not in the catalog',
  too_large: 'Larger than any machine',
  unsupported: 'Not known yet',
  missing_field: 'Something is missing',
  invalid_input: 'This could not be read',
  internal: 'A fault of ours',
};

export function Message({ error }: { error: CoreError }) {
  const request = use((state) => state.request);
  // What the command line takes as an option stands here as a button.
  const family = request?.model.config && error.hints?.map((hint) => /--assume-family (\S+)/.exec(hint)?.[1]).find(Boolean);
  return (
    <>
      <section class="state" role="alert">
        <h1>{HEADINGS[error.code] ?? 'No plan'}</h1>
        <p>Nothing was planned from it. {request ? 'Change what is named below, or start from an example.' : ''}</p>
        <div class="err" id="error">
          <b>error:</b> {error.message}
          {error.where && <div class="where">{`--> ${error.where}`}</div>}
          {error.hints?.map((hint) => <div class="where" key={hint}>help: {family ? hint.replace(/: pass --assume.*/, '') : hint}</div>)}
        </div>
        {family && <p><button class="btn" id="assume" onClick={() => edit((current) => ({ ...current, model: { ...current.model, assume_family: family } }))}>Plan it with the rule of {family}</button></p>}
        <Examples />
      </section>
      <Foot />
    </>
  );
}
