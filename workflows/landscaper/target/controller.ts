// The controller of Targets that are being deleted and are in use. It reports their users, and removes the finalizer when no DeployItem needs the Target.
// Source: docs/adr/0075.
//
//   T1. Other Targets start no run: a Target that is not being deleted costs nothing.
//   T2. The job that uninstalls the last item removes the finalizer. The passes of this controller repeat that for a Target whose last user has
//       disappeared in another way, for example by a finalizer that a user removed.

import { action, activitiesOf, defineLevel, done, later, type LevelPass, nop, path, valueAt } from '../../kit/index.ts'
import { IN_USE_FINALIZER } from '../contract.ts'
import { type Target, targetKind } from './kind.ts'

const releasing = activitiesOf(() => import('../../../activities/landscaper/deploy/target/release-target.ts'), {
  releaseTarget: { timeoutMs: 60_000 },
})

/** Time between two passes over a Target in use. */
const RECHECK_MS = 60_000

type NoStates = Readonly<Record<string, never>>
type TargetPass = LevelPass<NoStates, Target>

const releaseTarget = action<TargetPass>('releaseTarget', async ({ by, call }) => {
  const { users } = await call(releasing).releaseTarget({ by })
  return users.length === 0 ? done : later(RECHECK_MS)
})

/** T1 */
function isDeletedInUse(object: object): boolean {
  const finalizers = valueAt(object, path('metadata.finalizers'))
  const isDeleted = valueAt(object, path('metadata.deletionTimestamp')) !== undefined
  return isDeleted && Array.isArray(finalizers) && finalizers.includes(IN_USE_FINALIZER)
}

export const targetController = defineLevel<NoStates, Target>({
  name: 'target',
  target: targetKind,
  queries: {},
  predicate: isDeletedInUse,
  finalizer: IN_USE_FINALIZER,
  plan: nop,
  onDelete: releaseTarget,
  activities: releasing,
  // The rights are those of the deployers (workflows/landscaper/deploy-item/fields.ts).
  writes: [],
})
