// A named step of a cluster's pass. Records why a step did not finish, for the Event and the condition at the end of the pass.

import { action, type Outcome, type Runtime, type Step } from '../../kit/index.ts'
import { type ClusterContext, contextOf, normalEvent } from './context.ts'
import { isReported } from '../progress.ts'
import type { ClusterPass } from './pass.ts'
import { outcomeOf, type StepResult } from './requeue.ts'

/** Runs a call of the API server, so that its failure does not end the step. @returns the message of the failure. */
export type Attempt = (call: () => Promise<unknown>) => Promise<string | undefined>

export function clusterStep(
  name: string,
  body: (context: ClusterContext, attempt: Attempt) => Promise<StepResult> | StepResult,
): Step<ClusterPass> {
  return {
    name,
    children: [],
    async run(pass, runtime) {
      const context = contextOf(pass)
      const step = action<ClusterPass>(name, async () => {
        const result = await body(context, attemptWith(runtime))
        if (result !== undefined && result.isSilent !== true)
          report(context, name, result.message, result.kind === 'stop')
        if (result?.event !== undefined && !isReported(pass.target, name, result.message))
          await normalEvent(context, result.event, result.message)
        return outcomeOf(name, result)
      })
      const outcome = await step.run(pass, runtime)
      reportFaults(context, name, outcome)
      return outcome
    },
  }
}

function attemptWith(runtime: Runtime): Attempt {
  return async (call) => {
    try {
      await call()
      return undefined
    } catch (error) {
      const outcome = runtime.toOutcome(error)
      if (outcome === undefined) throw error
      return outcome.faults.map(({ message }) => message).join('; ')
    }
  }
}

function report({ blocked }: ClusterContext, step: string, message: string, hasStopped: boolean): void {
  if (!blocked.some((one) => one.step === step)) blocked.push({ step, message, hasStopped })
}

function reportFaults(context: ClusterContext, step: string, { faults }: Outcome): void {
  const [fault] = faults
  if (fault !== undefined) report(context, step, fault.message, true)
}
