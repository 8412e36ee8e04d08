// Vitest setup file: measures the cost of each test file and stores it in the file's metadata for the cost reporter.
//
//   C1. The CPU time is the time of the test process and of its child processes that ended during the file. It does not
//       include the shared servers.
//   C2. The number of processes includes only child processes that the test process starts itself.

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'

import { afterAll } from 'vitest'

declare module 'vitest' {
  export interface TaskMeta {
    cost?: FileCost
  }
}

/** Cost of one test file. Times are in seconds. */
export interface FileCost {
  readonly wallSeconds: number
  readonly cpuSeconds: number
  readonly processes: number
}

/** Unit of CPU times in /proc: USER_HZ is 100 on every Linux architecture that Node supports. */
const CLOCK_TICKS_PER_SECOND = 100

const startedAt = performance.now()
const cpuAtStart = readCpuSeconds()
let processes = 0
const countProcess = (): void => {
  processes += 1
}
subscribe('child_process', countProcess)

// Vitest requires an object pattern as the first parameter, because it reads the names of fixtures from it.
afterAll(({}, suite) => {
  unsubscribe('child_process', countProcess)
  suite.file.meta.cost = {
    wallSeconds: (performance.now() - startedAt) / 1000,
    cpuSeconds: readCpuSeconds() - cpuAtStart,
    processes,
  }
})

/** CPU seconds of this process and of its ended child processes. Without Linux's /proc: only of this process. */
function readCpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  const own = (user + system) / 1e6
  if (process.platform !== 'linux') return own
  const stat = readFileSync('/proc/self/stat', 'utf8')
  // The process name may contain spaces and parentheses, so the code counts fields after the last parenthesis. Source:
  // proc(5): cutime is field 16, cstime is field 17.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const childTicks = Number(fields[13]) + Number(fields[14])
  return own + childTicks / CLOCK_TICKS_PER_SECOND
}
