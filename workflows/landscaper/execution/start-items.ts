// Starts items. Items of handled types are hosted: the job begins with the item's first status write, in this run. Other items get the job ID, and
// the run waits for another program or another worker's run. Source: spec/landscaper.md 2.8, docs/concepts/architecture.md "Hosted children".

import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import { done, isIdle, joinOutcomes, type Outcome } from '../../kit/index.ts'
import { deployItems } from '../deploy-item/deploy-items.ts'
import { isHandled } from '../deploy-item/pass.ts'
import { callForItems, type ExecutionPass } from './pass.ts'

/** @param items that have not finished the job or do not have it yet. An item with another unfinished job is left out. */
export async function startItems(pass: ExecutionPass, items: readonly DeployItemView[]): Promise<Outcome> {
  const { jobID } = pass
  const free = items.filter((item) => item.jobID === jobID || isIdle(item))
  const foreign = free.filter((item) => !isHandled(item, pass) && item.jobID !== jobID)
  const served = free.filter((item) => isHandled(item, pass))
  const handedDown = await callForItems(pass, 'triggerDeployItems', foreign)
  const deployed = served.length === 0 ? done : await deployItems(pass, served, true)
  return joinOutcomes(handedDown, deployed)
}

/** The items of one level of the graph. */
export interface Level {
  /** May start now. */
  readonly ready: readonly DeployItemView[]
  /** Started, not finished. */
  readonly running: readonly DeployItemView[]
}

/**
 * Continues running items and starts ready items, level after level, until further progress needs waiting. Handles each item at most once.
 *
 * @param look classifies the current items; called after each level.
 * @returns the faults, and the time of the next pass.
 */
export async function startLevels(pass: ExecutionPass, look: () => Level): Promise<Outcome> {
  const seen = new Set<string>()
  const isNew = ({ uid }: DeployItemView) => !seen.has(uid)
  let outcome = done
  for (;;) {
    const { ready, running } = look()
    const items = [...running, ...ready].filter(isNew)
    if (items.length === 0) return outcome
    for (const { uid } of items) seen.add(uid)
    outcome = joinOutcomes(outcome, await startItems(pass, items))
    if (hasFinalFault(outcome)) return outcome
  }
}

function hasFinalFault({ faults }: Outcome): boolean {
  return faults.some(({ retryable }) => !retryable)
}

/** Waits for running items before a trigger that the server rejects permanently fails the job. */
export function waitForRunning(outcome: Outcome, running: readonly DeployItemView[], waiting: Outcome): Outcome {
  return hasFinalFault(outcome) && running.length > 0 ? { ...waiting, againMs: outcome.againMs } : outcome
}
