// Progressing: brings every deploy item to work whose predecessors have finished, level after level.
// Source: seeds/landscaper-execution-controller.txt "Progressing".
//
//   P1. A failed item stops new triggers; items already running are left to finish.
//   P3. While it is held back (pause.ts) nothing more is triggered; items already running are left to finish.
//   P2. Nothing running and nothing ready, yet items blocked: the graph is stuck, so the phase fails, with the cycle's path.

import { done, fail, findCycle, interrupts, joinOutcomes, type Outcome, stop } from '../../kit/index.ts'
import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import { classifyDeployItems } from './classify-deploy-items.ts'
import { nameDeployItems } from './deploy-item-cache.ts'
import { causes, codesOf, type ExecutionPass, heldBackText, isHeldBack, names } from './pass.ts'
import { releaseDeployers } from './name-deployers.ts'
import { drained, takeUpLevels } from './take-up-items.ts'

export async function triggerDeployItems(pass: ExecutionPass): Promise<Outcome> {
  const outcome = await triggerReady(pass)
  const isOver = outcome.stopped === undefined && outcome.againMs === undefined
  if (isOver && outcome.faults.every((fault) => !fault.retryable)) {
    releaseDeployers(pass)
    nameDeployItems(pass)
  }
  return outcome
}

async function triggerReady(pass: ExecutionPass): Promise<Outcome> {
  const look = () => {
    const classes = classesOf(pass)
    return classes.failed.length > 0 || isHeldBack(pass) ? { ...classes, ready: [] } : classes
  }
  const taken = await takeUpLevels(pass, look)
  const { running } = look()
  if (taken.faults.length > 0)
    return drained(
      taken,
      running,
      stop(`a deploy item could not be triggered; waiting for the running ones: ${names(running)}`),
    )
  const found = verdict(pass)
  // What ends the phase needs no other look.
  return interrupts(found) && found.stopped === undefined ? found : joinOutcomes(found, taken)
}

function verdict(pass: ExecutionPass): Outcome {
  const { failed, running, ready, blocked } = classesOf(pass)
  const of = (wanted: readonly string[]) => pass.state.deployItems.filter(({ item }) => wanted.includes(item))
  if (failed.length > 0) {
    return running.length > 0
      ? stop(`a deploy item failed; waiting for the running ones: ${names(running)}`)
      : failedItems(failed, of(failed))
  }
  if (isHeldBack(pass) && ready.length > 0) {
    const goesOn = running.length > 0 ? `; what has begun goes on: ${names(running)}` : ''
    return stop(`${heldBackText(pass)}; held back: ${names(ready)}${goesOn}`)
  }
  // What is ready still has been tried, and runs another job of its own.
  if (running.length > 0 || ready.length > 0) return stop(`waiting for ${names([...running, ...ready])}`)
  if (blocked.length === 0) return done

  const cycle = findCycle(blocked)
  return cycle === undefined
    ? fail('StuckDependencies', `items could not be started: ${names(blocked)}`)
    : fail('CyclicDependencies', `items could not be started because they depend on each other: ${cycle.join(' -> ')}`)
}

/** @param names also of items that are missing. */
function failedItems(names: readonly string[], failed: readonly DeployItemView[]): Outcome {
  const found = `has failed or missing deploy items: ${names.join(', ')}${causes(failed)}`
  return fail('DeployItemsFailed', found, codesOf(failed))
}

function classesOf({ state, jobID, background: tracks }: ExecutionPass) {
  return classifyDeployItems(state.target.items, state.deployItems, jobID, (uid) => tracks.has(uid))
}
