// What the machine does at this hour, by work that never changes: measured before and after a scenario, so that a noisy
// machine shows, and figures of another day can be compared.

import { setTimeout as sleep } from 'node:timers/promises'

import { ProcessMeter, type ProcessTree } from './processes.ts'
import type { Stage } from './stage.ts'
import { geometricMean, sum } from './statistics.ts'
import { WorkflowYardstick, type WorkflowSpeed } from './workflow-yardstick.ts'
import { measureWrites, type WriteSpeed } from './write-yardstick.ts'

export interface Yardsticks {
  readonly writes: WriteSpeed
  /** Workflows with nothing in them. */
  readonly noOp: WorkflowSpeed
  readonly oneLocalActivity: WorkflowSpeed
  /** Cores that the set uses while nothing is to be done. */
  readonly idleCores: number
}

export interface YardsticksOfRun {
  readonly before: Yardsticks
  readonly after: Yardsticks
}

const IDLE_MS = 5000
/** After work, and after a start. */
const QUIET_MS = 3000

export async function measureYardsticks({ set, kube, say }: Stage): Promise<Yardsticks> {
  const temporal = set.processes.filter(({ name }) => name === 'temporal')
  const workflows = await WorkflowYardstick.open(set.temporalAddress, temporal)
  try {
    const found = {
      writes: await measureWrites(kube, set.processes),
      noOp: await workflows.measure('noOp'),
      oneLocalActivity: await workflows.measure('oneLocalActivity'),
    }
    say(
      `yardsticks: ${found.writes.perSecond.toFixed(0)} API writes/s, ${found.noOp.perSecond.toFixed(0)} no-op workflows/s, ` +
        `${found.oneLocalActivity.perSecond.toFixed(0)} with a local activity`,
    )
    return { ...found, idleCores: await measureIdle(set.processes) }
  } finally {
    await workflows.close()
  }
}

async function measureIdle(processes: readonly ProcessTree[]): Promise<number> {
  await sleep(QUIET_MS)
  const meter = new ProcessMeter(processes)
  await sleep(IDLE_MS)
  return (sum(Object.values(meter.end()).map(({ cpuSeconds }) => cpuSeconds)) * 1000) / IDLE_MS
}

/** How much slower the machine was in `now` than in `then`: 2 is half as fast. */
export function slowness(now: YardsticksOfRun, then: YardsticksOfRun): number {
  const speeds = ({ writes, noOp, oneLocalActivity }: Yardsticks) => [writes, noOp, oneLocalActivity]
  const overall = ({ before, after }: YardsticksOfRun) =>
    geometricMean([...speeds(before), ...speeds(after)].map(({ perSecond }) => perSecond))
  return overall(then) / overall(now)
}
