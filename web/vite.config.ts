// Two bundles without chunks: the page and its worker. scripts/pack.mjs puts both into one HTML file.
import { defineConfig } from 'vite';

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
      entry: entry === 'worker' ? 'src/core/worker.ts' : 'src/main.tsx',
      formats: ['iife'],
      name: 'vramwise',
      fileName: () => `${entry}.js`,
      cssFileName: entry,
    },
  },
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
});
