// Reports the end of a pass: the condition Reconciled, which names the blocked step for `pawl why`, and the Events of the Go operator.
//
//   P1. Only a change is reported: an unchanged cluster causes no write.

import { done, lastAction, setPassCondition } from '../../kit/index.ts'
import { RECONCILED_CONDITION } from '../contract.ts'
import { type BlockedStep, type ClusterContext, contextOf, normalEvent } from './context.ts'
import type { ClusterStatus } from './kind.ts'
import type { ClusterPass } from './pass.ts'

/** The condition's reason without a blocked step. */
const COMPLETE = 'ReconciliationComplete'
const LONGEST_MESSAGE = 2000

export const reportProgress = lastAction<ClusterPass>('reportProgress', async (pass) => {
  const context = contextOf(pass)
  const { generation } = pass.target.metadata
  const isComplete = isReconciled(context.status, generation)
  const { step: reason, message, hasStopped } = blockedStep(context) ?? unblocked(isComplete)
  if (hasStopped && !isReported(context, reason, message))
    await normalEvent(context, 'ReconciliationTerminatedEarly', `${reason}: ${message}`)
  if (isComplete && !isReconciled(pass.target.status, generation))
    await normalEvent(context, COMPLETE, `Reconciled generation ${generation}`)
  setPassCondition(pass, {
    type: RECONCILED_CONDITION,
    status: isComplete ? 'True' : 'False',
    reason,
    message,
  })
  return done
})

/** The first step that stopped the pass, or did not finish. */
function blockedStep({ blocked }: ClusterContext): BlockedStep | undefined {
  const found = blocked.find(({ hasStopped }) => hasStopped) ?? blocked[0]
  return found === undefined ? undefined : { ...found, message: shortened(found.message) }
}

function unblocked(isComplete: boolean): BlockedStep {
  return { step: isComplete ? COMPLETE : 'InProgress', message: '', hasStopped: false }
}

/** Whether the pass before this one ended without a blocked step. */
export function wasComplete(context: ClusterContext): boolean {
  return isReported(context, COMPLETE, '')
}

function isReconciled(status: ClusterStatus | undefined, generation: number): boolean {
  return (status?.generations?.reconciled ?? 0) >= generation
}

/** P1. Whether the condition has the message already. */
export function isReported({ pass }: ClusterContext, step: string, message: string): boolean {
  const conditions = pass.target.status?.conditions ?? []
  const before = conditions.find(({ type }) => type === RECONCILED_CONDITION)
  return before?.reason === step && before.message === shortened(message)
}

function shortened(message: string): string {
  return message.slice(0, LONGEST_MESSAGE)
}
