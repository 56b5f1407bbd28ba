// Each term in a sentence, and the page of docs/ with the longer story. Shown as a tip beside the word, and all
// together in the list of terms, which a click on any of them opens.

export interface TermEntry {
  text: string;
  /** File in docs/ of the repository; named, not linked: this page asks for nothing. */
  more?: string;
}

const glossary = 'glossary.md';
const workload = 'workload.md';

export const TERM_LIST: [group: string, terms: Record<string, TermEntry>][] = [
  ['Memory', {
    Weights: { text: 'The model itself, as it lies on the card after loading.', more: 'formats.md' },
    'KV cache': { text: 'Keys and values of every token each user holds. Grows with context × users.', more: glossary },
    Activations: { text: 'Working memory of the largest step: reading a prompt, or sampling.', more: 'engines' },
    Runtime: { text: 'CUDA context, kernels, graphs and scratch pools: taken beside what the framework counts.', more: 'engines' },
    Total: { text: 'All four on the fullest card, with the low and high estimate.', more: glossary },
    Need: { text: 'What this many users at this length need.', more: glossary },
    Reserve: { text: 'What the engine takes at start-up, whether it is used or not.', more: glossary },
    Peak: { text: 'The worst moment: loading, profiling, capturing graphs, the first long prompt.', more: glossary },
    Pool: { text: 'The cache memory an engine takes at start-up and hands out in blocks of a few tokens.', more: glossary },
    'CUDA graphs': { text: 'Recorded steps that are replayed with less overhead; each recorded batch size keeps some memory.', more: 'engines' },
    Card: { text: 'The GPU. Free is what its driver leaves to a program, less than what is printed on the box.', more: glossary },
  }],
  ['Model', {
    GQA: { text: 'Grouped-query attention: several query heads share one pair of keys and values, so the cache is smaller.', more: glossary },
    MLA: { text: 'Multi-head latent attention: one small vector a token and layer instead of keys and values.', more: glossary },
    'Sliding window': { text: 'A layer that sees only the last tokens keeps only those in its cache.', more: glossary },
    Recurrent: { text: 'A layer with a state of fixed size instead of a cache that grows.', more: glossary },
    'Mixture of experts': { text: 'A layer of many feed-forward parts of which a token visits a few: all of them take memory, few take time.', more: glossary },
    Format: { text: 'How many bits a weight takes. Group size: how many weights share one scale; smaller groups are truer and take more.', more: 'formats.md' },
    'Group size': { text: 'How many weights share one scale, often 32 or 128: the scales are stored beside the weights.', more: 'formats.md' },
  }],
  ['Question', {
    Engine: { text: 'The program that serves the model. Each spends memory by rules of its own.', more: 'engines' },
    'Context per user': { text: 'Tokens of one conversation: prompt and answer together. 64k is 65,536.', more: glossary },
    'Users at once': { text: 'Conversations held at the same time, each at the full context.', more: glossary },
    'KV cache type': { text: 'How the cache is stored. 8 bits halve it; long answers may lose a little.', more: 'formats.md' },
    'Tensor parallel': { text: 'Each layer split over several cards: weights and cache are shared out, every card does part of each step.', more: 'engines' },
    'Pipeline parallel': { text: 'Layers dealt out over several cards, one stage after the other.', more: 'engines' },
  }],
  ['Traffic', {
    Lengths: { text: 'Tokens of a request: the prompt and the answer. Presets are published recordings.', more: workload },
    Arrivals: { text: 'When requests come: the most that keeps the promise, at a rate, from so many people, or as recorded.', more: workload },
    Promise: { text: 'What latency is promised to which share of the requests (SLO).', more: workload },
    'Users under this traffic': { text: 'Most people with one request each, so that the tokens they hold stay within the cache pool for this share of the time.', more: workload },
    'Within the promise': { text: 'The highest rate at which the promised share of requests is in time (goodput).', more: workload },
    Cost: { text: 'Price of the whole machine over the answer tokens it makes at this rate.', more: workload },
    'First token': { text: 'From arrival to the first token of the answer (TTFT), on the server.', more: workload },
    'Between tokens': { text: 'Gap between two tokens of an answer (ITL), all answers together.', more: workload },
    'Limited by': { text: 'What a higher rate runs into first.', more: workload },
    Preempted: { text: 'A running request put back into the queue because the cache was full; its tokens are computed again.', more: workload },
  }],
  ['How a number was come by', {
    exact: { text: 'Read from the file or plain arithmetic.', more: glossary },
    derived: { text: 'Follows from the engine’s own rule.', more: glossary },
    modelled: { text: 'From a rule fitted to what servers printed.', more: 'accuracy.md' },
    measured: { text: 'From your own machine.', more: 'verify.md' },
  }],
];

export const TERMS: Record<string, string> = Object.fromEntries(
  TERM_LIST.flatMap(([, terms]) => Object.entries(terms).map(([word, entry]) => [word, entry.text])));
