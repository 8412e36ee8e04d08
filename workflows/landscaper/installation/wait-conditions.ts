// Reports in the status for which other objects a job waits: the wait may take arbitrarily long, and nothing else shows it. Sub-installations report
// no wait for siblings, because users find these siblings in the same job.

import type { ConditionChange } from '../../kit/index.ts'
import { CONTEXT_WAIT_CONDITION, WAIT_CONDITION } from './kind.ts'
import type { InstallationPass } from './pass.ts'

type WaitingPass = Pick<InstallationPass, 'draft' | 'state'>
type Target = WaitingPass['state']['target']

const WAITS = {
  siblings: {
    type: WAIT_CONDITION,
    reason: 'WaitingForSiblings',
    over: { reason: 'SiblingsFinished', message: 'the job waits for no sibling' },
    said: ({ siblingWait }: Target) => siblingWait,
  },
  context: {
    type: CONTEXT_WAIT_CONDITION,
    reason: 'WaitingForContext',
    over: { reason: 'ContextNotAwaited', message: 'the job does not wait for the Context' },
    said: ({ contextWait }: Target) => contextWait,
  },
} as const

/** The kinds of waits. */
export type Wait = keyof typeof WAITS

/** @param message the objects that the job waits for; an unchanged message is not written again. */
export function reportWait({ draft, state: { target } }: WaitingPass, of: Wait, message: string): void {
  if (of === 'siblings' && target.hasParent) return
  const { type, reason, said } = WAITS[of]
  removeCondition(draft.conditions, type)
  // The first write of a job removes the conditions of the previous job.
  if (message !== said(target) || draft.marks.includes('initTime'))
    draft.conditions.push({ type, status: 'True', reason, message })
}

/** The wait is over, or the step is about to check it: the next write resets the condition. */
export function clearWaits({ draft, state: { target } }: WaitingPass): void {
  for (const { type, over, said } of Object.values(WAITS))
    if (said(target) !== undefined && !draft.conditions.some((one) => one.type === type))
      draft.conditions.push({ type, status: 'False', ...over })
}

/** The wait that the status shows after this pass; undefined without a wait. */
export function currentWait({ draft, state: { target } }: WaitingPass): string | undefined {
  const shown = Object.values(WAITS).map(({ type, said }) => {
    const change = draft.conditions.find((one) => one.type === type)
    if (change === undefined) return said(target)
    return change.status === 'True' ? change.message : undefined
  })
  return shown.find((message) => message !== undefined)
}

function removeCondition(conditions: ConditionChange[], type: string): void {
  const at = conditions.findIndex((one) => one.type === type)
  if (at !== -1) conditions.splice(at, 1)
}
