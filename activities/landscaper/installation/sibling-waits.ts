// Waiting for siblings, shared by roots and sub-installations.

import { type Installation, installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import { type By, path, type Subject, textAt, valueAt } from '../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../deps.ts'
import { subscribeAll } from '../../journal/write/subscriptions.ts'

/** The waiting job. */
export interface WaitingJob {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
}

/** The names of blocking siblings, shortened if there are many. */
export interface BlockingSiblings {
  /** A change of these siblings wakes the job. */
  readonly unfinished: readonly string[]
  /** Names with their phases. */
  readonly failed: readonly string[]
}

/** Subscribes the job to changes of siblings with these names. @returns the names with a new subscription. */
export async function subscribeToSiblings(
  { db, cluster, now }: LandscaperDeps,
  { subject: { uid, namespace }, jobID }: WaitingJob,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  const { group, kind } = installationKind
  const waiter = { cluster, controller: 'installation', uid, job_id: jobID }
  const waits = names.map((name) => ({ ...waiter, group, kind, namespace, name }))
  return await subscribeAll(db, waits, now())
}

/** Whether the object is being deleted. Accepts objects and projections. */
export function isDeleting(one: Installation | object): boolean {
  return valueAt(one, path('metadata.deletionTimestamp')) !== undefined
}

const CREATING_PHASES: readonly string[] = ['Init', 'CleanupOrphaned', 'ObjectsCreated', 'Progressing', 'Completing']

/** Whether the phase belongs to a job that creates or updates, not to one that deletes. */
export function isCreating(one: Installation | object): boolean {
  return CREATING_PHASES.includes(textAt(one, path('status.phase')) ?? '')
}
