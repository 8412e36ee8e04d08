// A root that waits for others says so in its status: it may take as long as they do, and nothing else shows it. Sub-installations wait for siblings that
// people find beside them in the same job.

import type { ConditionChange } from '../../kit/index.ts'
import { WAIT_CONDITION } from './kind.ts'
import type { InstallationPass } from './pass.ts'

type Told = Pick<InstallationPass, 'draft' | 'state'>

/** @param message for whom it waits, as before or anew. */
export function tellWait({ draft, state: { target } }: Told, message: string): void {
  if (target.hasParent) return
  take(draft.conditions)
  // With the first write of a job goes what the job before has said.
  if (message !== target.siblingWait || draft.marks.includes('initTime'))
    draft.conditions.push({ type: WAIT_CONDITION, status: 'True', reason: 'WaitingForSiblings', message })
}

/** It waits no more, or is about to see whether it does: what was said is taken back with what is written next. */
export function endWait({ draft, state: { target } }: Told): void {
  if (target.siblingWait === undefined || draft.conditions.some(isOfWait)) return
  const message = 'no sibling is waited for'
  draft.conditions.push({ type: WAIT_CONDITION, status: 'False', reason: 'SiblingsFinished', message })
}

/** What the pass leaves said; undefined: it does not wait. */
export function shownWait({ draft, state: { target } }: Told): string | undefined {
  const said = draft.conditions.find(isOfWait)
  if (said === undefined) return target.siblingWait
  return said.status === 'True' ? said.message : undefined
}

function take(conditions: ConditionChange[]): void {
  const at = conditions.findIndex(isOfWait)
  if (at !== -1) conditions.splice(at, 1)
}

function isOfWait({ type }: ConditionChange): boolean {
  return type === WAIT_CONDITION
}
