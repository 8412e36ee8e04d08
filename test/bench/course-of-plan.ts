// One load through some operations, measured: what every scenario does, in one call.

import { Load, OPERATIONS, type Operation } from './load.ts'
import { measure, type Measurement } from './measure.ts'
import type { Plan } from './installations.ts'
import { WARM_UP } from './rows.ts'
import type { Stage } from './stage.ts'

export type Measured = ReadonlyMap<Operation, Measurement>

/**
 * Creates the load and takes it through the further operations; it is deleted in any case, measured or not.
 *
 * @throws as `measure` does.
 */
export async function measurePlan(
  { kube, set, options, say }: Stage,
  plan: Plan,
  further: readonly Operation[] = ['delete'],
): Promise<Measured> {
  const load = await Load.open(kube, plan, set)
  const { timeoutMs } = options
  const found = new Map<Operation, Measurement>()
  try {
    for (const operation of ['create', ...further] as const) {
      const one = await measure(load, operation, { processes: set.processes, timeoutMs })
      found.set(operation, one)
      say(`${titleOf(plan)}: ${operation} ${(one.wallMs / 1000).toFixed(2)} s, ${one.requests.writes} writes`)
    }
  } finally {
    if (!found.has('delete')) await load.run('delete', { timeoutMs }).catch(() => undefined)
    await load.close()
  }
  return found
}

/** Code gets compiled, caches and pools get filled. */
export async function warmUp(stage: Stage): Promise<void> {
  if (!stage.options.scenarioOptions.warmUp) return
  stage.say('warm-up')
  await measurePlan({ ...stage, say: () => undefined }, WARM_UP, OPERATIONS.slice(1))
}

export function titleOf({ installations, items, shape }: Plan): string {
  return `${installations}x${items}${shape === 'chain' ? ' chain' : ''}`
}

/** Of an operation that was measured. */
export function measuredOf(measured: Measured, operation: Operation): Measurement {
  const found = measured.get(operation)
  if (found === undefined) throw new Error(`${operation} was not measured`)
  return found
}
