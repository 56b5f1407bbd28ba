// Bundles without chunks: the page, its worker, what unpacks the core for both (scripts/pack.mjs puts them into one
// HTML file), and for the build the first questions, which it asks the core (scripts/index_data.mjs), and how the core
// is taken apart (scripts/pack.mjs).
import { defineConfig } from 'vite';

const sources: Record<string, string> = {
  main: 'src/main.tsx', worker: 'src/core/worker.ts', unpack: 'src/core/unpack.ts', questions: 'src/state/questions.ts',
  streams: 'src/core/streams.ts',
};
const entry = process.env.VRAMWISE_ENTRY ?? 'main';

export default defineConfig({
  root: import.meta.dirname,
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../build/web/parts',
    emptyOutDir: false,
    target: 'es2022',
    modulePreload: false,
    cssCodeSplit: false,
    reportCompressedSize: false,
    lib: {
      entry: sources[entry]!,
      formats: [entry === 'questions' || entry === 'streams' ? 'es' : 'iife'],
      name: entry === 'unpack' ? 'vramwiseUnpack' : 'vramwise',
      fileName: () => `${entry}.js`,
      cssFileName: entry,
    },
  },
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
});
