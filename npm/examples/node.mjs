// node node_modules/@vramwise/core/examples/node.mjs
import { load } from '@vramwise/core';

const vramwise = await load();
const question = {
  model: { ref: 'Qwen/Qwen3-8B' },
  engine: { name: 'vllm' },
  hardware: { gpu: 'rtx-4090' },
  workload: { sequence_tokens: 16384, concurrency: 4 },
};
const plan = vramwise.plan(question);
console.log(plan.answer);
console.log(plan.command);

// Users on one card at 8,192 and 32,768 tokens.
const { cells, sequence_tokens, concurrency } = vramwise.grid(question, {
  sequence_tokens: [8192, 32768],
  concurrency: [1, 4, 16],
});
cells.forEach((row, i) =>
  row.forEach((cell, j) =>
    console.log(`${concurrency[i]} x ${sequence_tokens[j]} tokens: ${cell.outcome}; smallest card: ${cell.gpu ?? 'none'}`),
  ),
);
