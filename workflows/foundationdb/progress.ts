// Reports the progress of a pass: the condition Reconciled, which names the blocked step for `pawl why`, and the Events of the Go operator.
//
//   P1. Only a change is reported: an unchanged object causes no write.

import {
  action,
  again,
  type Condition,
  done,
  type LastAction,
  lastAction,
  type LevelActs,
  type ReportingPass,
  retryLater,
  setPassCondition,
  type Step,
} from '../kit/index.ts'
import { RECONCILED_CONDITION } from './contract.ts'

/** The condition's reason without a blocked step. */
const COMPLETE = 'ReconciliationComplete'
const TERMINATED = 'ReconciliationTerminatedEarly'
const LONGEST_MESSAGE = 2000

/** A step that did not finish its work. */
export interface BlockedStep {
  readonly step: string
  readonly message: string
  /** The later steps of the pass did not run. */
  readonly hasStopped: boolean
}

export interface Progress {
  /** In the order of the steps. */
  readonly blocked: readonly BlockedStep[]
  /** Also while a generation that was complete before waits for a repair. */
  readonly isComplete: boolean
  /** The complete generation waits for a repair, such as of a lost Pod. */
  readonly isRepairing?: boolean
  /** Of the previous pass over the same generation. */
  readonly wasComplete: boolean
}

interface ProgressPass extends ReportingPass {
  readonly act: Pick<LevelActs, 'event'>
}

/** The last step of a plan. */
export function reportProgress<Pass extends ProgressPass>(progressOf: (pass: Pass) => Progress): LastAction<Pass> {
  return lastAction<Pass>('reportProgress', async (pass) => {
    const { isComplete, wasComplete, blocked, isRepairing = false } = progressOf(pass)
    const found = blocked.find(({ hasStopped }) => hasStopped) ?? blocked[0]
    const isTrue = isComplete && !isRepairing
    const { step, message, hasStopped } = found ?? unblocked(isTrue)
    if (hasStopped && !isReported(pass.target, step, message))
      await pass.act.event({
        type: 'Normal',
        reason: TERMINATED,
        message: `${step}: ${shortened(message)}`,
      })
    if (isComplete && !wasComplete)
      await pass.act.event({
        type: 'Normal',
        reason: COMPLETE,
        message: `Reconciled generation ${pass.target.metadata.generation}`,
      })
    const change = { type: RECONCILED_CONDITION, reason: step, message: shortened(message) }
    setPassCondition(pass, { ...change, status: isTrue ? 'True' : 'False' })
    return done
  })
}

function unblocked(isComplete: boolean): BlockedStep {
  return { step: isComplete ? COMPLETE : 'InProgress', message: '', hasStopped: false }
}

/** P1. Whether the condition has the message already. */
export function isReported({ status }: ReportingPass['target'], step: string, message: string): boolean {
  const before = (status?.conditions ?? []).find(({ type }: Condition) => type === RECONCILED_CONDITION)
  return before?.reason === step && before.message === shortened(message)
}

/** Whether the pass before this one ended without a blocked step. */
export function wasUnblocked(target: ReportingPass['target']): boolean {
  return isReported(target, COMPLETE, '')
}

function shortened(message: string): string {
  return message.slice(0, LONGEST_MESSAGE)
}

/**
 * Why a step did not finish. A text is an error: the delay until the next pass grows. Without a message only the time of the next pass is known.
 * Undefined: the step has nothing more to do.
 */
export type StepProblem = string | { readonly message?: string; readonly againMs: number } | undefined

const BLOCKED = new WeakMap<object, BlockedStep[]>()

/** The steps of this pass that did not finish; only those made by `progressStep`. */
export function blockedSteps(pass: object): BlockedStep[] {
  const found = BLOCKED.get(pass) ?? []
  BLOCKED.set(pass, found)
  return found
}

/** A step that ends the pass when it does not finish. */
export function progressStep<Pass extends object>(
  name: string,
  body: (pass: Pass) => Promise<StepProblem> | StepProblem,
): Step<Pass> {
  return {
    name,
    children: [],
    async run(pass, runtime) {
      const report = (message: string) => blockedSteps(pass).push({ step: name, message, hasStopped: true })
      const outcome = await action<Pass>(name, async () => {
        const problem = await body(pass)
        if (problem === undefined) return done
        if (typeof problem === 'string') return retryLater(name, problem)
        if (problem.message !== undefined) report(problem.message)
        return again(problem.againMs)
      }).run(pass, runtime)
      const [fault] = outcome.faults
      if (fault !== undefined) report(fault.message)
      return outcome
    },
  }
}
