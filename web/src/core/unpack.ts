// The module as it stands in the page: .xz, because it is a quarter smaller than deflated and browsers unpack only
// the latter. A script of its own, so that page and workers share one copy: each reaches it as a global.
import { XzReadableStream } from 'xz-decompress';
import { chunk, fromBase64 } from './bytes';
import { join } from './streams';

/** `packed`: base64 of the .xz of the module's streams. */
export async function compile(packed: string): Promise<WebAssembly.Module> {
  const stream = new XzReadableStream(chunk(fromBase64(packed)));
  return WebAssembly.compile(join(new Uint8Array(await new Response(stream).arrayBuffer())));
}
