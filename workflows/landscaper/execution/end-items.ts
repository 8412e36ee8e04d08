// Ends items without their deployers: interrupted items, items that no deployer picked up, and skipped items.
//
// An interrupt is handled in the first step of Progressing and Deleting: it ends all unfinished items, triggered or not, so that no item is triggered
// afterwards. The following steps find these items failed. Source: spec/landscaper.md 2.11.

import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import type { InterruptResult } from '../../../activities/landscaper/execution/end-items.ts'
import { again, done, isIdle, type Outcome } from '../../kit/index.ts'
import { applyResult, callForItems, batch, type ExecutionPass, retryFaults, itemsLeft } from './pass.ts'

export async function interruptItems(pass: ExecutionPass): Promise<Outcome> {
  const { state, jobID, act } = pass
  const { version, interruptRequested } = state.target
  if (!interruptRequested && state.isInterrupted !== true) return stopFinishedActivities(pass)
  const request = interruptRequested ? { version, jobID: state.target.jobID } : undefined
  let asked: readonly DeployItemView[] = state.deployItems.filter((item) => item.jobIDFinished !== jobID)
  let result: InterruptResult
  do {
    result = await act.interruptExecution({ ...batch(pass, asked), request })
    const outcome = applyResult(pass, result)
    if (outcome.faults.length > 0) return retryFaults(outcome)
    asked = itemsLeft(asked, result)
  } while (asked.length > 0)
  // The object is deleted or has another job: the next pass handles both.
  if (result.target === undefined && request !== undefined) return again(0)
  pass.state = { ...pass.state, target: result.target ?? pass.state.target, isInterrupted: false }
  return stopFinishedActivities(pass)
}

/** Stops the background activities of items that another process has finished. */
export function stopFinishedActivities({ state, jobID, background }: ExecutionPass): Outcome {
  background.retain(new Set(state.deployItems.filter((item) => item.jobIDFinished !== jobID).map(({ uid }) => uid)))
  return done
}

/**
 * Phases Progressing and Deleting: fails items that no deployer picked up before the pickup timeout. Source: spec/landscaper.md 2.10.
 */
export async function endUnclaimedItems(pass: ExecutionPass): Promise<Outcome> {
  const overdue = unclaimedItems(pass).filter(({ pickupMs }) => (pickupMs ?? 0) <= 0)
  return retryFaults(await callForItems(pass, 'endUnclaimedItems', overdue))
}

/** Items of this job that wait for a deployer and have a pickup timeout. */
export function unclaimedItems({ state, jobID }: ExecutionPass): DeployItemView[] {
  return state.deployItems.filter(
    (item) => item.jobID === jobID && item.jobIDFinished !== jobID && item.pickupMs !== undefined,
  )
}

// Schedules a pass for the time at which the first waiting item exceeds the pickup timeout.

// Lower bound, so that a timeout that has passed and cannot be written yet does not cause endless passes.
const MIN_WAIT_MS = 100

export function awaitPickup(pass: ExecutionPass): Outcome {
  const waits = unclaimedItems(pass).map(({ pickupMs }) => pickupMs ?? 0)
  return waits.length === 0 ? done : again(Math.max(Math.min(...waits), MIN_WAIT_MS))
}

/**
 * Phase Progressing: ends items that a user has skipped as succeeded, started or not, so that their dependents can start. A deletion uninstalls
 * skipped items like all others, because an earlier job may have deployed them. Source: docs/adr/0053.
 */
export async function skipItems(pass: ExecutionPass): Promise<Outcome> {
  const { state, jobID } = pass
  if (!state.deployItems.some(({ isSkipped }) => isSkipped === true)) return done
  const wanted = new Set(state.target.items.map(({ name }) => name))
  const isDue = (item: DeployItemView) =>
    item.isSkipped === true && wanted.has(item.item) && !item.deleting && (item.jobID === jobID || isIdle(item))
  const isOver = (item: DeployItemView) => item.jobIDFinished === jobID && item.phase === 'Succeeded'
  const ended = retryFaults(
    await callForItems(
      pass,
      'skipItems',
      state.deployItems.filter((item) => isDue(item) && !isOver(item)),
    ),
  )
  stopFinishedActivities(pass)
  return ended
}
