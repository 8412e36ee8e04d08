// Step 2. Writes the deny list of the spec to the database; entries of other IDs stay. Source: seeds/foundationdb-operator-technical-design.txt
// UpdateLockConfiguration; spec/foundationdb.md 2.2, 3.5.

import { clusterStep } from '../cluster-step.ts'
import { databaseAddress, updateStatus } from '../context.ts'
import { lockInput } from '../lock.ts'
import { isDenyListCurrent } from '../reconciliation-check.ts'
import { stopFor } from '../requeue.ts'

export const updateLockConfiguration = clusterStep('UpdateLockConfiguration', async (context) => {
  const { settings, status } = context
  const { denyList, isUsed } = settings.lock
  const address = databaseAddress(context)
  if (denyList.length === 0 || !isUsed || status.configured !== true || address === undefined) return undefined
  const stored = status.locks?.lockDenyList ?? []
  if (isDenyListCurrent(denyList, stored)) return undefined
  const result = await context.calls.updateDenyList({ ...address, ...lockInput(context), entries: denyList })
  if ('failure' in result) return stopFor(`the deny list cannot be written: ${result.failure.message}`)
  const removed = new Set(denyList.filter(({ isAllowed }) => isAllowed).map(({ id }) => id))
  const added = denyList.filter(({ isAllowed }) => !isAllowed).map(({ id }) => id)
  const lockDenyList = [...new Set([...stored.filter((id) => !removed.has(id)), ...added])].sort()
  updateStatus(context, { locks: { lockDenyList } })
  return undefined
})
