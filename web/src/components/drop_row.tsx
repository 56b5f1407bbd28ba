// Open a file, or paste a line, a config, a log. Dropping works on the whole page (drop_target.tsx).
import { useRef, useState } from 'preact/hooks';
import { openFiles } from '../state/files';
import { UNDERSTOOD, takePaste } from '../state/paste';

export function DropRow() {
  const [pasting, setPasting] = useState(false);
  const [message, setMessage] = useState(UNDERSTOOD);
  const picker = useRef<HTMLInputElement>(null);
  const latest = useRef(0);
  const take = async (text: string) => {
    const turn = ++latest.current;
    const said = await takePaste(text);
    if (turn === latest.current) setMessage(said);
  };
  return (
    <>
      <div class="drop">
        <span>Drop a model file</span>
        <button class="btn quiet" id="open" type="button" onClick={() => picker.current?.click()}>Open</button>
        <button class="btn quiet" id="paste-open" type="button" aria-expanded={pasting} aria-controls="paste-box" onClick={() => setPasting(!pasting)}>Paste</button>
        <input
          type="file" id="file" ref={picker} hidden multiple tabIndex={-1} aria-label="Model files" accept=".json,.gguf,.safetensors,.log,.txt"
          onChange={(event) => {
            void openFiles([...(event.currentTarget.files ?? [])]);
            event.currentTarget.value = '';
          }}
        />
      </div>
      <div class="paste" id="paste-box" hidden={!pasting}>
        {pasting && (
          <textarea
            id="paste" aria-label="Launch line, config.json or startup log" spellcheck={false}
            placeholder="vllm serve Qwen/Qwen3-30B-A3B --max-model-len 32768 --kv-cache-dtype fp8"
            ref={(element) => { if (element && !element.dataset.seen) { element.dataset.seen = '1'; element.focus(); } }}
            onInput={(event) => void take(event.currentTarget.value)}
          />
        )}
        <p id="paste-message" role="status">{message}</p>
      </div>
    </>
  );
}
