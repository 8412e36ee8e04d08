// Phase Progressing: starts every item whose predecessors have finished, level after level.
// Source: seeds/landscaper-execution-controller.txt "Progressing".
//
//   P1. A failed item stops new triggers; running items finish.
//   P2. If items are blocked while none runs and none is ready, the phase fails, and the message has the cycle.
//   P3. During a pause (pause.ts) no item starts; running items finish.

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
  // A result that ends the phase needs no further pass.
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
  // An item that is still ready was tried and has another unfinished job.
  if (running.length > 0 || ready.length > 0) return stop(`waiting for ${names([...running, ...ready])}`)
  if (blocked.length === 0) return done

  const cycle = findCycle(blocked)
  return cycle === undefined
    ? fail('StuckDependencies', `items could not be started: ${names(blocked)}`)
    : fail('CyclicDependencies', `items could not be started because they depend on each other: ${cycle.join(' -> ')}`)
}

/** @param names also of missing items. */
function failedItems(names: readonly string[], failed: readonly DeployItemView[]): Outcome {
  const found = `has failed or missing deploy items: ${names.join(', ')}${causes(failed)}`
  return fail('DeployItemsFailed', found, codesOf(failed))
}

function classesOf({ state, jobID, background: tracks }: ExecutionPass) {
  return classifyDeployItems(state.target.items, state.deployItems, jobID, (uid) => tracks.has(uid))
}
