// core/unpack.ts as the page carries it: a script before this one, in the page and in every worker.
declare const vramwiseUnpack: typeof import('./unpack');

export const compile = (packed: string): Promise<WebAssembly.Module> => vramwiseUnpack.compile(packed);
