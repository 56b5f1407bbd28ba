// The module as it stands in the page: .xz, because it is a quarter smaller than deflated and browsers unpack only
// the latter. A script of its own, so that page and workers share one copy: each reaches it as a global.
import { XzReadableStream } from 'xz-decompress';
import { chunk, fromBase64 } from './bytes';

/** `packed`: base64 of the .xz. The module is compiled while it is still being unpacked. */
export async function compile(packed: string): Promise<WebAssembly.Module> {
  const stream = new XzReadableStream(chunk(fromBase64(packed)));
  if (!('compileStreaming' in WebAssembly)) return WebAssembly.compile(await new Response(stream).arrayBuffer());
  return WebAssembly.compileStreaming(new Response(stream, { headers: { 'content-type': 'application/wasm' } }));
}
