// Brings items to work. Those of types that the run serves are hosted: the job begins with their own first status write, in this run. Those of
// others are handed the job ID, and waited for: another program deploys them, or another worker, in runs of their own. Source: spec/landscaper.md 2.8, docs/architecture.md "Hosted children".

import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import { done, isIdle, joinOutcomes, type Outcome } from '../../kit/index.ts'
import { deployItems } from '../deploy-item/deploy-items.ts'
import { isServed } from '../deploy-item/pass.ts'
import { absorbAll, type ExecutionPass } from './pass.ts'

/** @param items that have the job unfinished, or do not have it yet. One that runs another job is left to end it first. */
export async function takeUpItems(pass: ExecutionPass, items: readonly DeployItemView[]): Promise<Outcome> {
  const { jobID } = pass
  const free = items.filter((item) => item.jobID === jobID || isIdle(item))
  const foreign = free.filter((item) => !isServed(item, pass) && item.jobID !== jobID)
  const served = free.filter((item) => isServed(item, pass))
  const handedDown = await absorbAll(pass, 'triggerDeployItems', foreign)
  const deployed = served.length === 0 ? done : await deployItems(pass, served, true)
  return joinOutcomes(handedDown, deployed)
}

/** What a step looks at between two levels of the graph. */
export interface Level {
  /** May begin now. */
  readonly ready: readonly DeployItemView[]
  /** Have begun, and not ended. */
  readonly running: readonly DeployItemView[]
}

/**
 * Brings to work what runs, and what may begin, level after level, as far as that comes without waiting. No item twice.
 *
 * @param look at the items as they are, again after each level.
 * @returns what the work met, and when it is to be looked at again.
 */
export async function takeUpLevels(pass: ExecutionPass, look: () => Level): Promise<Outcome> {
  const seen = new Set<string>()
  const isNew = ({ uid }: DeployItemView) => !seen.has(uid)
  let outcome = done
  for (;;) {
    const { ready, running } = look()
    const items = [...running, ...ready].filter(isNew)
    if (items.length === 0) return outcome
    for (const { uid } of items) seen.add(uid)
    outcome = joinOutcomes(outcome, await takeUpItems(pass, items))
    if (hasFinalFault(outcome)) return outcome
  }
}

function hasFinalFault({ faults }: Outcome): boolean {
  return faults.some(({ retryable }) => !retryable)
}

/** A trigger that the server refuses for good counts as a failed item: those that run are left to finish first. */
export function drained(outcome: Outcome, running: readonly DeployItemView[], waiting: Outcome): Outcome {
  return hasFinalFault(outcome) && running.length > 0 ? { ...waiting, againMs: outcome.againMs } : outcome
}
