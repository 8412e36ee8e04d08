// The wait of a job for the Context of its namespace, which comes of itself, a moment after the namespace (workflows/landscaper/context/). The original fails
// a job that was faster.
//
//   W1. Only who reads a component needs it, and only where one is made of itself: any other that is missing is its author's to make.
//   W2. Who is being deleted waits for none: a namespace that goes gets no Context any more, and its deletion would wait for the job for ever.

import { contextKind } from '../../../workflows/landscaper/context/kind.ts'
import type { Installation } from '../../../workflows/landscaper/installation/kind.ts'
import { subscribe } from '../../journal/write/subscriptions.ts'
import { readObject } from '../../kube/read-family.ts'
import { getsContext } from '../context/default-contexts.ts'
import type { LandscaperDeps } from '../deps.ts'
import { isLeaving, type Onlooker } from './sibling-waits.ts'
import { componentOf } from './spec.ts'

export const DEFAULT_CONTEXT = 'default'

/** @returns what is waited for, whose coming will wake the job; undefined: nothing. */
export async function awaitContext(
  deps: LandscaperDeps,
  { subject: { uid, namespace }, jobID }: Onlooker,
  installation: Installation,
): Promise<string | undefined> {
  const { context = DEFAULT_CONTEXT } = installation.spec
  const isNeeded =
    componentOf(installation.spec) !== undefined && context === DEFAULT_CONTEXT && !isLeaving(installation)
  if (!isNeeded || !getsContext(deps.landscaper.defaultContexts, namespace)) return undefined
  if (await isThere(deps, namespace)) return undefined
  const { db, cluster, now } = deps
  const { group, kind } = contextKind
  const waiter = { cluster, controller: 'installation', uid, job_id: jobID }
  await subscribe(db, { ...waiter, group, kind, namespace, name: DEFAULT_CONTEXT }, now())
  // It may have come before anybody would have told.
  if (await isThere(deps, namespace)) return undefined
  return `waiting for context ${namespace}/${DEFAULT_CONTEXT}, which each namespace gets (--default-contexts)`
}

async function isThere(deps: LandscaperDeps, namespace: string): Promise<boolean> {
  const watched = { ...contextKind, projection: [], hashed: [] }
  return (await readObject(deps, watched, namespace, DEFAULT_CONTEXT)) !== undefined
}
