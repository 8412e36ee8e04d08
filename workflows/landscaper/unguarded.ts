// Detects Executions and DeployItems without parent and without finalizer. Such an object is a root: it gets its finalizer when Pawl first sees it, not
// with
// its first job, so that its deletion waits for the job that uninstalls it. Objects with a parent are created with the finalizer.
// Source: spec/landscaper.md 2.2 (sequence of checks, 2).

import { FINALIZER } from './contract.ts'
import { type GroupKind, ownerOfKind, path, type JobTrigger, valueAt, type RunRequest } from '../kit/index.ts'

const FINALIZERS = path('metadata.finalizers')

/** The mark by which the resync selects such objects. */
export const UNGUARDED: JobTrigger = { path: FINALIZERS, lacks: FINALIZER }

/** A run that only adds the finalizer; it starts no job. */
export const FIRST_SEEN = { jobID: undefined, cause: 'first seen' } as const satisfies RunRequest

/** Whether the object has no parent, no finalizer and no deletion timestamp. Accepts objects and projections. */
export function isUnguarded(object: object, parent: GroupKind): boolean {
  const finalizers = valueAt(object, FINALIZERS)
  const isGuarded = Array.isArray(finalizers) && finalizers.includes(FINALIZER)
  const isDeleting = valueAt(object, path('metadata.deletionTimestamp')) !== undefined
  return !isGuarded && !isDeleting && ownerOfKind(object, parent) === undefined
}
