// The plan of a TargetSync: one synchronization, its result in the status, and the next pass after some minutes. Source: spec/landscaper.md 1.9.
//
//   P1. One TargetSync per namespace: with several, none synchronizes, because each would delete the objects of the others.

import { action, activitiesOf, done, type LevelPass, later, type Outcome } from '../../kit/index.ts'
import { OPERATION_ANNOTATION, ROTATE_TOKEN_ANNOTATION } from '../contract.ts'
import { operationProblem, OPERATIONS } from '../operation-warnings.ts'
import { type TargetSync, targetSyncKind } from './kind.ts'

export const syncActivities = activitiesOf(() => import('../../../activities/landscaper/target-sync/sync-targets.ts'), {
  syncTargets: { timeoutMs: 5 * 60_000 },
  removeTargets: { timeoutMs: 60_000 },
})

interface Named {
  readonly metadata: { readonly name: string }
}

export interface TargetSyncState {
  /** All TargetSyncs of the namespace, including the target. */
  readonly all: readonly Named[]
}

export type TargetSyncPass = LevelPass<TargetSyncState, TargetSync>

const SYNC_MS = 5 * 60_000
/** Delay after a failed synchronization. */
const RETRY_MS = 60_000
const ROTATION_MS = 60 * 24 * 60 * 60_000

export const syncTargets = action<TargetSyncPass>('syncTargets', async (pass) => {
  const { target, status, now } = pass
  const { errors, rotated } = await synchronize(pass)
  status.lastErrors = errors.length === 0 ? null : [...errors]
  status.observedGeneration = target.metadata.generation
  status.lastUpdateTime = timestamp(now)
  if (rotated) status.lastTokenRotationTime = timestamp(now)
  await reportUnknownOperation(pass)
  // The annotations of a request are removed after the request has been carried out.
  await pass.save()
  await removeRequests(pass, rotated)
  return later(errors.length === 0 ? SYNC_MS : RETRY_MS)
})

/** Deletes all objects of the namespace that a TargetSync created, unless another TargetSync exists. */
export const removeTargets = action<TargetSyncPass>('removeTargets', async ({ state, by, call }): Promise<Outcome> => {
  if (state.all.length > 1) return done
  await call(syncActivities).removeTargets({ by })
  return done
})

async function synchronize({ target, state, by, call, now }: TargetSyncPass) {
  if (state.all.length > 1) return { errors: [formatSeveral(target, state.all)], rotated: false }
  return await call(syncActivities).syncTargets({ by, spec: target.spec, rotates: isRotationDue(target, now) })
}

function formatSeveral({ metadata: { namespace } }: TargetSync, all: readonly Named[]): string {
  const names = all.map(({ metadata }) => metadata.name).slice(0, 5)
  return `namespace ${namespace}: found ${all.length} TargetSyncs (${names.join(', ')}); expected one`
}

function isRotationDue({ spec, status, metadata }: TargetSync, now: Date): boolean {
  if (spec.tokenRotation?.enabled !== true) return false
  if (metadata.annotations?.[ROTATE_TOKEN_ANNOTATION] !== undefined) return true
  // eslint-disable-next-line no-restricted-globals -- parses a text, asks no clock
  const rotatedAt = Date.parse(status?.lastTokenRotationTime ?? '')
  return !(now.getTime() - rotatedAt < ROTATION_MS)
}

/** Repeated passes report the same value as one Event. */
async function reportUnknownOperation({ target, act }: TargetSyncPass): Promise<void> {
  const message = operationProblem(target, OPERATIONS.targetSync)
  if (message !== undefined) await act.event({ type: 'Warning', reason: 'UnknownOperation', message })
}

async function removeRequests({ target, act }: TargetSyncPass, rotated: boolean): Promise<void> {
  const { name, annotations = {} } = target.metadata
  const asked = [
    ...(annotations[OPERATION_ANNOTATION] === 'reconcile' ? [OPERATION_ANNOTATION] : []),
    ...(rotated && annotations[ROTATE_TOKEN_ANNOTATION] !== undefined ? [ROTATE_TOKEN_ANNOTATION] : []),
  ]
  if (asked.length === 0) return
  const { apiVersion, kind } = targetSyncKind
  const metadata = { name, annotations: Object.fromEntries(asked.map((key) => [key, null])) }
  await act.apply({ apiVersion, kind, metadata })
}

/** The format of Kubernetes' timestamps. */
function timestamp(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, 'Z')
}
