// The whole page takes files: an outline while something is dragged over it.
import { useEffect, useState } from 'preact/hooks';
import { openFiles } from '../state/files';

export function DropTarget() {
  const [over, setOver] = useState(false);
  useEffect(() => {
    let depth = 0;
    const enter = (event: DragEvent) => {
      event.preventDefault();
      if (event.dataTransfer?.types.includes('Files')) setOver(++depth > 0);
    };
    const leave = () => setOver((depth = Math.max(0, depth - 1)) > 0);
    const hover = (event: DragEvent) => event.preventDefault();
    const drop = (event: DragEvent) => {
      event.preventDefault();
      depth = 0;
      setOver(false);
      void openFiles([...(event.dataTransfer?.files ?? [])]);
    };
    const handlers = { dragenter: enter, dragleave: leave, dragover: hover, drop } as const;
    for (const [name, handler] of Object.entries(handlers)) addEventListener(name, handler as EventListener);
    return () => {
      for (const [name, handler] of Object.entries(handlers)) removeEventListener(name, handler as EventListener);
    };
  }, []);
  return (
    <div class="over" id="over" hidden={!over}>
      <div>Drop to read the header<small>config.json, GGUF, safetensors or an index. Nothing is uploaded.</small></div>
    </div>
  );
}
