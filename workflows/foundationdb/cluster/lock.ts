// Takes the lock before an effect on the whole database. Source: seeds/foundationdb-operator-technical-design.txt "Locking Operations";
// spec/foundationdb.md 2.26, 3.

import { type ClusterContext, databaseAddress } from './context.ts'
import { type StepResult, stopFor, USUAL_DELAY_MS } from './requeue.ts'

/** The lock's part of the input of an activity. */
export function lockInput({ settings }: ClusterContext) {
  const { lockID, keyPrefix, durationSeconds } = settings.lock
  return { lock: { lockID, keyPrefix, durationSeconds } }
}

/** The lock's part of the input of an activity that changes the whole database; empty where the cluster uses no lock. */
export function usedLock(context: ClusterContext) {
  return context.settings.lock.isUsed ? lockInput(context) : {}
}

/** @returns undefined if this controller has the lock, or needs none. */
export async function takeLock(context: ClusterContext): Promise<StepResult> {
  if (!context.settings.lock.isUsed) return undefined
  const address = databaseAddress(context)
  if (address === undefined) return stopFor('the lock needs a database, which has no connection string yet')
  const result = await context.calls.takeLock({ ...address, ...lockInput(context) })
  context.hasLock = 'value' in result
  return 'failure' in result ? stopFor(result.failure.message, USUAL_DELAY_MS) : undefined
}
