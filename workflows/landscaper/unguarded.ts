// An Execution or DeployItem without parent is a root: its finalizer is put on as soon as it is seen, not with its first job, so that one that is
// deleted waits for the job that takes away what is its. Below a parent it has the finalizer from the start.
// Source: spec/landscaper.md 2.2 (sequence of checks, 2).

import { FINALIZER } from './contract.ts'
import { type GroupKind, ownerOfKind, path, type JobTrigger, valueAt, type RunRequest } from '../kit/index.ts'

const FINALIZERS = path('metadata.finalizers')

/** What the sweep looks for. */
export const UNGUARDED: JobTrigger = { path: FINALIZERS, lacks: FINALIZER }

/** A run that only guards the object: no job begins in it. */
export const FIRST_SEEN = { jobID: undefined, cause: 'first seen' } as const satisfies RunRequest

/** Whether the object has no parent and no finalizer, and may still get one. By an object or projection. */
export function isUnguarded(object: object, parent: GroupKind): boolean {
  const finalizers = valueAt(object, FINALIZERS)
  const isGuarded = Array.isArray(finalizers) && finalizers.includes(FINALIZER)
  const isDeleting = valueAt(object, path('metadata.deletionTimestamp')) !== undefined
  return !isGuarded && !isDeleting && ownerOfKind(object, parent) === undefined
}
