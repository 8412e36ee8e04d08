// The activities by which passes use fdbrestore.

import { activitiesOf } from '../../kit/index.ts'

const USUAL_MS = 60_000

export const restoreCalls = activitiesOf(
  () => import('../../../activities/foundationdb/database/restore-activities.ts'),
  {
    readRestoreStatus: { timeoutMs: USUAL_MS, attempts: 1 },
    startRestore: { timeoutMs: USUAL_MS, attempts: 1 },
  },
)
