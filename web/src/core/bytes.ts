// Data blocks of the page, base64, and what the browser packs and unpacks itself.

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (native) return native(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (let i = 0; i < bytes.length; i += 0x8000) binary += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(binary);
}

// One chunk in: a Blob's stream would hand the bytes over in many small ones, each with its own turn.
export const chunk = (bytes: Uint8Array<ArrayBuffer>) => new ReadableStream<Uint8Array<ArrayBuffer>>({
  start(controller) {
    controller.enqueue(bytes);
    controller.close();
  },
});

async function through(bytes: Uint8Array<ArrayBuffer>, stream: GenericTransformStream): Promise<Uint8Array<ArrayBuffer>> {
  const piped = chunk(bytes).pipeThrough(stream as ReadableWritablePair<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}

export const deflate = (bytes: Uint8Array<ArrayBuffer>) => through(bytes, new CompressionStream('deflate-raw'));

// What is deflated may grow a thousandfold: handed over in pieces, it can be stopped in time.
const PIECE = 4096;

/** Rejects once it grows longer than `most` bytes. */
export async function inflate(bytes: Uint8Array<ArrayBuffer>, most: number): Promise<Uint8Array<ArrayBuffer>> {
  let at = 0;
  const pieces = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      if (at < bytes.length) controller.enqueue(bytes.slice(at, (at += PIECE)));
      else controller.close();
    },
  });
  const reader = pieces.pipeThrough(new DecompressionStream('deflate-raw') as ReadableWritablePair<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>).getReader();
  const inflated: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    inflated.push(next.value);
    size += next.value.length;
    if (size > most) {
      void reader.cancel();
      throw new Error(`longer than ${most} bytes`);
    }
  }
  return new Uint8Array(await new Blob(inflated).arrayBuffer());
}

/** A data block <script type="…" id="…">, as it stands in the page. */
export function block(id: string): string {
  const text = document.getElementById(id)?.textContent?.trim();
  if (!text) throw new Error(`the page is incomplete: data block ${id} is missing`);
  return text;
}
