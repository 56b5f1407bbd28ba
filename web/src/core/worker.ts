// A lane: one core in a worker of its own. First message: the module, compiled or (for the first lane) packed as
// it stands in the page; that lane hands the compiled one back for the others. Then questions; each is answered
// in order, and one that was given up before its turn is left out.
import { compile } from './compile';
import { complete, instantiate, type Core, type Part } from './module';

export interface Question {
  id: number;
  request: string;
  parts?: Part[];
  /** Text of workload.trace: put into the request here, so that a long one never holds up the page. */
  recording?: string;
}
export type ToWorker = { packed: string } | { module: WebAssembly.Module } | { ask: Question } | { drop: number };
export interface Compiled {
  module: WebAssembly.Module;
}
/** It cannot run the core. */
export interface Stopped {
  stopped: string;
}
export interface FromWorker {
  id: number;
  answer?: string;
  failure?: string;
  ms: number;
}

let core: Core | undefined;
const waiting: Question[] = [];
let running = false;
// A message to itself lets "drop" messages in between two questions.
const turn = new MessageChannel();

function next(): void {
  if (running || !core || waiting.length === 0) return;
  running = true;
  turn.port2.postMessage(0);
}

turn.port1.onmessage = () => {
  running = false;
  const question = waiting.shift();
  if (question && core) {
    const started = performance.now();
    const reply: FromWorker = { id: question.id, ms: 0 };
    try {
      reply.answer = core.handle(complete(question), question.parts);
    } catch (error) {
      reply.failure = String(error);
    }
    reply.ms = performance.now() - started;
    self.postMessage(reply);
  }
  next();
};

self.onmessage = async ({ data }: MessageEvent<ToWorker>) => {
  if ('packed' in data) {
    try {
      const module = await compile(data.packed);
      self.postMessage({ module } satisfies Compiled);
      core = await instantiate(module);
    } catch (error) {
      self.postMessage({ stopped: String(error) } satisfies Stopped);
    }
  } else if ('module' in data) {
    core = await instantiate(data.module);
  } else if ('drop' in data) {
    const at = waiting.findIndex((question) => question.id === data.drop);
    if (at >= 0) waiting.splice(at, 1);
  } else {
    waiting.push(data.ask);
  }
  next();
};
