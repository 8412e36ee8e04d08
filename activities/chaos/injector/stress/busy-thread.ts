// A thread that is busy for a share of every tenth of a second, and sleeps the rest of it.

import { workerData } from 'node:worker_threads'

// Source: spec/chaos.md 3.8, "a 100 ms duty cycle".
const CYCLE_MS = 100

const { percentage } = workerData as { readonly percentage: number }
const never = new Int32Array(new SharedArrayBuffer(4))

for (let start = performance.now(); ; start += CYCLE_MS) {
  // What was not done in time, as the group has no more CPU, is not made up for.
  start = Math.max(start, performance.now() - CYCLE_MS)
  while (performance.now() < start + percentage);
  const rest = start + CYCLE_MS - performance.now()
  if (rest > 0) Atomics.wait(never, 0, 0, rest)
}
