// Step 19. Replaces the coordinators when the current ones are invalid. Source: seeds/foundationdb-operator-technical-design.txt ChangeCoordinators;
// spec/foundationdb.md 2.19, 4.9.

import type { DatabaseStatus } from '../../../../activities/foundationdb/database/status.ts'
import { checkCoordinators, chooseCoordinators, coordinatorCandidates } from '../../database/coordinators.ts'
import { availabilityProblem } from '../../database/safety.ts'
import { clusterStep } from '../cluster-step.ts'
import {
  availableDatabase,
  type ClusterContext,
  databaseAddress,
  normalEvent,
  noteRecovery,
  updateStatus,
} from '../context.ts'
import { coordinatorRules } from '../coordinator-rules.ts'
import { takeLock, usedLock } from '../lock.ts'
import {
  continueWith,
  failWith,
  NO_DELAY_MS,
  recoveryDelayMs,
  type StepResult,
  stopFor,
  USUAL_DELAY_MS,
  withEvent,
} from '../requeue.ts'

export const changeCoordinators = clusterStep('ChangeCoordinators', async (context) => {
  const database = context.status.configured === true ? await availableDatabase(context) : undefined
  if (database === undefined) return undefined
  const rules = coordinatorRules(context)
  const check = checkCoordinators(database.coordinators, database.processes, rules)
  if (check.problems.length === 0) return undefined
  if (!check.hasUsableAddresses) {
    const message = `the coordinators must change, but some processes have no address ${rules.isTls ? 'with' : 'without'} TLS yet`
    return withEvent('DeferringCoordinatorChange', continueWith(message))
  }
  const reason = check.problems.join('; ')
  const wait = waitOf(context, database)
  if (wait !== undefined) return stopFor(`the coordinators must change (${reason}), but ${wait.problem}`, wait.delayMs)
  const choice = chooseCoordinators(coordinatorCandidates(database.processes, rules), rules)
  if ('problem' in choice) return stopFor(`the coordinators must change (${reason}): ${choice.problem}`)
  const blocked = await takeLock(context)
  if (blocked !== undefined) return blocked
  const addresses = choice.chosen.map((one) => one.address)
  await normalEvent(context, 'ChangingCoordinators', `Choosing new coordinators ${addresses.join(', ')}: ${reason}`)
  return await change(context, addresses)
})

/** Why the coordinators must not change now. */
function waitOf(
  { waits }: ClusterContext,
  database: DatabaseStatus,
): { readonly problem: string; readonly delayMs: number } | undefined {
  const isLost = database.coordinators.some(({ isReachable }) => !isReachable)
  const least = isLost ? waits.replaceCoordinator : waits.moveCoordinators
  const { secondsSince = Infinity } = database.recovery
  if (secondsSince < least)
    return {
      problem: `the last recovery was less than ${least} s ago`,
      delayMs: recoveryDelayMs(least, secondsSince),
    }
  const problem = availabilityProblem(database)
  return problem === undefined ? undefined : { problem, delayMs: USUAL_DELAY_MS }
}

async function change(context: ClusterContext, addresses: readonly string[]): Promise<StepResult> {
  const address = databaseAddress(context)
  if (address === undefined) return undefined
  const result = await context.calls.changeCoordinators({ ...address, ...usedLock(context), addresses })
  if ('failure' in result) return failWith(result.failure.message)
  updateStatus(context, { connectionString: result.value })
  await context.pass.save()
  await noteRecovery(context)
  // The ConfigMap and all Pods need the new connection string.
  return stopFor('the coordinators were changed', NO_DELAY_MS)
}
