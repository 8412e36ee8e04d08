// Progressing: hands the current job ID to every deploy item whose predecessors have finished.
// Source: seeds/landscaper-execution-controller.txt "Progressing".
//
//   P1. A failed item stops new triggers; items already running are left to finish.
//   P2. Nothing running and nothing ready, yet items blocked: the graph is stuck, so the phase fails, with the cycle's path.

import { done, fail, findCycle, type Outcome, stop } from '../../kit/index.ts'
import { classifyDeployItems } from './classify-deploy-items.ts'
import { absorb, batch, causes, type ExecutionPass, names } from './pass.ts'
import { releaseDeployers } from './name-deployers.ts'

export async function triggerDeployItems(pass: ExecutionPass): Promise<Outcome> {
  const outcome = await triggerReady(pass)
  if (outcome.stopped === undefined && outcome.faults.every((fault) => !fault.retryable)) releaseDeployers(pass)
  return outcome
}

async function triggerReady(pass: ExecutionPass): Promise<Outcome> {
  const { state, jobID, act } = pass
  const { failed, running, ready, blocked } = classifyDeployItems(state.target.items, state.deployItems, jobID)

  const of = (wanted: readonly string[]) => state.deployItems.filter(({ item }) => wanted.includes(item))

  if (failed.length > 0) {
    return running.length > 0
      ? stop(`a deploy item failed; waiting for the running ones: ${names(running)}`)
      : fail('DeployItemsFailed', `has failed or missing deploy items: ${failed.join(', ')}${causes(of(failed))}`)
  }
  if (ready.length > 0) {
    const triggered = absorb(pass, await act.triggerDeployItems(batch(pass, ready)))
    return triggered.faults.length > 0 ? drain(pass, triggered) : stop(`waiting for ${names([...running, ...ready])}`)
  }
  if (running.length > 0) return stop(`waiting for ${names(running)}`)
  if (blocked.length === 0) return done

  const cycle = findCycle(blocked)
  return cycle === undefined
    ? fail('StuckDependencies', `items could not be started: ${names(blocked)}`)
    : fail('CyclicDependencies', `items could not be started because they depend on each other: ${cycle.join(' -> ')}`)
}

// A trigger that the server refuses for good counts as a failed item: the running ones are left to finish first (P1).
function drain({ state, jobID }: ExecutionPass, triggered: Outcome): Outcome {
  const { running } = classifyDeployItems(state.target.items, state.deployItems, jobID)
  if (running.length === 0 || triggered.faults.some((fault) => fault.retryable)) return triggered
  return stop(`a deploy item could not be triggered; waiting for the running ones: ${names(running)}`)
}
