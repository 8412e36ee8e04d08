// What waits for siblings have in common, of roots and of sub-installations.

import { type Installation, installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import { type By, path, type Subject, textAt, valueAt } from '../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../deps.ts'
import { subscribeAll } from '../../journal/write/subscriptions.ts'

/** Whose job looks. */
export interface Onlooker {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
}

/** Siblings that are in the way, by their names; of very many the first. */
export interface InTheWay {
  /** Their end will wake the job. */
  readonly unfinished: readonly string[]
  /** With their phases. */
  readonly failed: readonly string[]
}

/** Whatever becomes of siblings of these names wakes the job. @returns those that it did not wait for before. */
export async function waitFor(
  { db, cluster, now }: LandscaperDeps,
  { subject: { uid, namespace }, jobID }: Onlooker,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  const { group, kind } = installationKind
  const waiter = { cluster, controller: 'installation', uid, job_id: jobID }
  const waits = names.map((name) => ({ ...waiter, group, kind, namespace, name }))
  return await subscribeAll(db, waits, now())
}

/** Takes objects and projections alike. */
export function isLeaving(one: Installation | object): boolean {
  return valueAt(one, path('metadata.deletionTimestamp')) !== undefined
}

const MAKING: readonly string[] = ['Init', 'CleanupOrphaned', 'ObjectsCreated', 'Progressing', 'Completing']

/** Its job makes something, and does not take it away. */
export function isMaking(one: Installation | object): boolean {
  return MAKING.includes(textAt(one, path('status.phase')) ?? '')
}
