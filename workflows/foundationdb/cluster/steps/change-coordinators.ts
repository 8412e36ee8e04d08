// Step 19. Replaces the coordinators when the current ones are invalid. Source: seeds/foundationdb-operator-technical-design.txt ChangeCoordinators;
// spec/foundationdb.md 2.19, 4.9.

import type { DatabaseStatus } from '../../../../activities/foundationdb/database/status.ts'
import {
  checkCoordinators,
  chooseCoordinators,
  coordinatorCandidates,
  type CoordinatorRules,
} from '../../database/coordinators.ts'
import { availabilityProblem, recoveryProblem } from '../../database/safety.ts'
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
import { settlingDelay } from '../recovery-delay.ts'
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
  const least = leastSeconds(context, database)
  const problem = recoveryProblem(database, least) ?? availabilityProblem(database)
  if (problem !== undefined)
    return stopFor(`the coordinators must change (${reason}), but ${problem}`, settlingDelay(database, least))
  const choice = chooseCoordinators(reachableCandidates(database, rules), rules)
  if ('problem' in choice) return stopFor(`the coordinators must change (${reason}): ${choice.problem}`)
  const blocked = await takeLock(context)
  if (blocked !== undefined) return blocked
  const addresses = choice.chosen.map((one) => one.address)
  await normalEvent(context, 'ChangingCoordinators', `Choosing new coordinators ${addresses.join(', ')}: ${reason}`)
  return await change(context, addresses)
})

/** The database may report a process for some seconds after its end, but does not accept it as a coordinator. */
function reachableCandidates({ coordinators, processes }: DatabaseStatus, rules: CoordinatorRules) {
  const lost = new Set(coordinators.filter(({ isReachable }) => !isReachable).map(({ address }) => address))
  return coordinatorCandidates(processes, rules).filter(({ address }) => !lost.has(address))
}

/** After the last recovery. */
function leastSeconds({ waits }: ClusterContext, { coordinators }: DatabaseStatus): number {
  return coordinators.some(({ isReachable }) => !isReachable) ? waits.replaceCoordinator : waits.moveCoordinators
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
