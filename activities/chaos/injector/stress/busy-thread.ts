// A thread that is busy for a percentage of each 100 ms and sleeps otherwise.

import { workerData } from 'node:worker_threads'

// Source: spec/chaos.md 3.8, "a 100 ms duty cycle".
const CYCLE_MS = 100

const { percentage } = workerData as { readonly percentage: number }
const never = new Int32Array(new SharedArrayBuffer(4))

for (;;) {
  const start = performance.now()
  const worked = usedMs()
  // Measures CPU time instead of wall time, because a busy CPU takes longer to grant the percentage.
  while (usedMs() - worked < percentage && performance.now() - start < CYCLE_MS);
  const rest = start + CYCLE_MS - performance.now()
  if (rest > 0) Atomics.wait(never, 0, 0, rest)
}

function usedMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
