// A job that waits for what is not its own says so in its status: it may take as long as that does, and nothing else shows it. Sub-installations wait for
// siblings that people find beside them in the same job.

import type { ConditionChange } from '../../kit/index.ts'
import { CONTEXT_WAIT_CONDITION, WAIT_CONDITION } from './kind.ts'
import type { InstallationPass } from './pass.ts'

type Told = Pick<InstallationPass, 'draft' | 'state'>
type Target = Told['state']['target']

const WAITS = {
  siblings: {
    type: WAIT_CONDITION,
    reason: 'WaitingForSiblings',
    over: { reason: 'SiblingsFinished', message: 'no sibling is waited for' },
    said: ({ siblingWait }: Target) => siblingWait,
  },
  context: {
    type: CONTEXT_WAIT_CONDITION,
    reason: 'WaitingForContext',
    over: { reason: 'ContextNotAwaited', message: 'the Context is not waited for any more' },
    said: ({ contextWait }: Target) => contextWait,
  },
} as const

/** What is waited for. */
export type Wait = keyof typeof WAITS

/** @param message for whom it waits, as before or anew. */
export function tellWait({ draft, state: { target } }: Told, of: Wait, message: string): void {
  if (of === 'siblings' && target.hasParent) return
  const { type, reason, said } = WAITS[of]
  take(draft.conditions, type)
  // With the first write of a job goes what the job before has said.
  if (message !== said(target) || draft.marks.includes('initTime'))
    draft.conditions.push({ type, status: 'True', reason, message })
}

/** It waits no more, or is about to see whether it does: what was said is taken back with what is written next. */
export function endWait({ draft, state: { target } }: Told): void {
  for (const { type, over, said } of Object.values(WAITS))
    if (said(target) !== undefined && !draft.conditions.some((one) => one.type === type))
      draft.conditions.push({ type, status: 'False', ...over })
}

/** What the pass leaves said; undefined: it does not wait. */
export function shownWait({ draft, state: { target } }: Told): string | undefined {
  const shown = Object.values(WAITS).map(({ type, said }) => {
    const change = draft.conditions.find((one) => one.type === type)
    if (change === undefined) return said(target)
    return change.status === 'True' ? change.message : undefined
  })
  return shown.find((message) => message !== undefined)
}

function take(conditions: ConditionChange[], type: string): void {
  const at = conditions.findIndex((one) => one.type === type)
  if (at !== -1) conditions.splice(at, 1)
}
