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
import { continueWith, failWith, NO_DELAY_MS, type StepResult, stopFor, withEvent } from '../requeue.ts'

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
  const problem = recoveryProblem(context, database) ?? availabilityProblem(database)
  if (problem !== undefined) return stopFor(`the coordinators must change (${reason}), but ${problem}`)
  const choice = chooseCoordinators(coordinatorCandidates(database.processes, rules), rules)
  if ('problem' in choice) return stopFor(`the coordinators must change (${reason}): ${choice.problem}`)
  const blocked = await takeLock(context)
  if (blocked !== undefined) return blocked
  const addresses = choice.chosen.map((one) => one.address)
  await normalEvent(context, 'ChangingCoordinators', `Choosing new coordinators ${addresses.join(', ')}: ${reason}`)
  return await change(context, addresses)
})

function recoveryProblem({ waits }: ClusterContext, { coordinators, recovery }: DatabaseStatus): string | undefined {
  const isLost = coordinators.some(({ isReachable }) => !isReachable)
  const least = isLost ? waits.replaceCoordinator : waits.moveCoordinators
  const { secondsSince = Infinity } = recovery
  return secondsSince < least ? `the last recovery was less than ${least} s ago` : undefined
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
