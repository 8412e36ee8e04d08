// Waits for the default Context of a new namespace, which a controller creates shortly after the namespace (workflows/landscaper/context/).
// Landscaper fails a job that starts earlier.
//
//   W1. Only an Installation with a component waits, and only for a Context that Pawl creates. Any other missing Context is the author's mistake.
//   W2. An Installation that is being deleted does not wait: a terminating namespace gets no Context, so the job would never end.

import { contextKind } from '../../../workflows/landscaper/context/kind.ts'
import type { Installation } from '../../../workflows/landscaper/installation/kind.ts'
import { subscribe } from '../../journal/write/subscriptions.ts'
import { readObject } from '../../kube/read-family.ts'
import { getsContext } from '../context/default-contexts.ts'
import type { LandscaperDeps } from '../deps.ts'
import { isDeleting, type WaitingJob } from './sibling-waits.ts'
import { componentOf } from './spec.ts'

export const DEFAULT_CONTEXT = 'default'

/** @returns the reason to wait; the creation of the Context wakes the job. Undefined if the job need not wait. */
export async function awaitContext(
  deps: LandscaperDeps,
  { subject: { uid, namespace }, jobID }: WaitingJob,
  installation: Installation,
): Promise<string | undefined> {
  const { context = DEFAULT_CONTEXT } = installation.spec
  const isNeeded =
    componentOf(installation.spec) !== undefined && context === DEFAULT_CONTEXT && !isDeleting(installation)
  if (!isNeeded || !getsContext(deps.landscaper.defaultContexts, namespace)) return undefined
  if (await isThere(deps, namespace)) return undefined
  const { db, cluster, now } = deps
  const { group, kind } = contextKind
  const waiter = { cluster, controller: 'installation', uid, job_id: jobID }
  await subscribe(db, { ...waiter, group, kind, namespace, name: DEFAULT_CONTEXT }, now())
  // The Context may have been created before the subscription.
  if (await isThere(deps, namespace)) return undefined
  return `waiting until Pawl creates Context "${namespace}/${DEFAULT_CONTEXT}" (--default-contexts)`
}

async function isThere(deps: LandscaperDeps, namespace: string): Promise<boolean> {
  const watched = { ...contextKind, projection: [], hashed: [] }
  return (await readObject(deps, watched, namespace, DEFAULT_CONTEXT)) !== undefined
}
