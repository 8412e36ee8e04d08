// The activities by which passes use a cluster's database and Pods.

import { activitiesOf } from '../../kit/index.ts'

const USUAL_MS = 90_000
/** `status`, `exclude` and `kill` have longer time-outs; see the adapter. */
const LONG_MS = 120_000

export const databaseCalls = activitiesOf(() => import('../../../activities/foundationdb/database/activities.ts'), {
  readStatus: { timeoutMs: LONG_MS, attempts: 1 },
  configure: { timeoutMs: LONG_MS, attempts: 1 },
  exclude: { timeoutMs: LONG_MS, attempts: 1 },
  include: { timeoutMs: LONG_MS, attempts: 1 },
  kill: { timeoutMs: LONG_MS, attempts: 1 },
  changeCoordinators: { timeoutMs: LONG_MS, attempts: 1 },
  takeLock: { timeoutMs: USUAL_MS, attempts: 1 },
  releaseLock: { timeoutMs: USUAL_MS, attempts: 1 },
  readDenyList: { timeoutMs: USUAL_MS, attempts: 1 },
  updateDenyList: { timeoutMs: USUAL_MS, attempts: 1 },
  addPendingUpgrades: { timeoutMs: USUAL_MS, attempts: 1 },
  readPendingUpgrades: { timeoutMs: USUAL_MS, attempts: 1 },
  clearPendingUpgrades: { timeoutMs: USUAL_MS, attempts: 1 },
  isVersionSupported: { timeoutMs: USUAL_MS },
  protocolOfVersion: { timeoutMs: USUAL_MS },
  syncPods: { timeoutMs: LONG_MS, attempts: 1 },
})

export type DatabaseCalls = NonNullable<(typeof databaseCalls)['calls']>
export type CallResult<Name extends keyof DatabaseCalls> = Awaited<ReturnType<DatabaseCalls[Name]>>
