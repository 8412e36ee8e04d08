// Phase Progressing of an Execution: starts every item whose predecessors have finished, level after level. The second
// part of the file names, in a condition, the deployers that the phase waits for.
// Source: seeds/landscaper-execution-controller.txt "Progressing".
//
//   P1. A failed item stops new triggers; running items finish.
//   P2. If items are blocked while none runs and none is ready, the phase fails. The message has the cycle, or the
//       blocked items if there is no cycle.
//   P3. During a pause (pause.ts) no item starts; running items finish.

import { done, fail, findCycle, interrupts, joinOutcomes, nearMisses, type Outcome, stop } from '../../kit/index.ts'
import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import { classifyDeployItems } from './classify-deploy-items.ts'
import { setDeployItemCache } from './apply-deploy-items.ts'
import { formatErrors, formatFailed, errorCodes, type ExecutionPass, describePause, isPaused, names } from './pass.ts'
import { waitForRunning, startLevels } from './start-items.ts'
import { isHandled } from '../deploy-item/pass.ts'
import { isTypeBuiltIn } from '../deploy-item/handled-types.ts'
import { BUILT_IN_TYPES } from '../deploy-item/deployers.gen.ts'
import { DEPLOYERS_CONDITION } from './kind.ts'

export async function triggerDeployItems(pass: ExecutionPass): Promise<Outcome> {
  const outcome = await triggerReady(pass)
  // The phase ends: with success, or with faults that no retry can fix.
  const isOver = outcome.stopped === undefined && outcome.againMs === undefined
  if (isOver && outcome.faults.every((fault) => !fault.retryable)) {
    resetDeployersCondition(pass)
    // `status.deployItemCache`, for programs that read Landscaper's status.
    setDeployItemCache(pass)
  }
  return outcome
}

async function triggerReady(pass: ExecutionPass): Promise<Outcome> {
  // The items to start and the running items. P1 and P3: no item is ready after a failure or during a pause.
  const look = () => {
    const classes = classesOf(pass)
    return classes.failed.length > 0 || isPaused(pass) ? { ...classes, ready: [] } : classes
  }
  const taken = await startLevels(pass, look)
  const { running } = look()
  if (taken.faults.length > 0)
    return waitForRunning(
      taken,
      running,
      stop(`Pawl could not start a deploy item; waiting for the running items: ${names(running)}`),
    )
  const found = outcomeOf(pass)
  // A failed phase ignores the passes that the started items request (`taken`). `found` is `done`, a stop (which
  // waits for items), or a fault, which fails the phase.
  return interrupts(found) && found.stopped === undefined ? found : joinOutcomes(found, taken)
}

function outcomeOf(pass: ExecutionPass): Outcome {
  const { failed, running, ready, blocked } = classesOf(pass)
  const of = (wanted: readonly string[]) => pass.state.deployItems.filter(({ item }) => wanted.includes(item))
  if (failed.length > 0) {
    return running.length > 0
      ? stop(`a deploy item failed; waiting for the running items: ${names(running)}`)
      : failedItems(failed, of(failed))
  }
  if (isPaused(pass) && ready.length > 0) {
    const started = running.length > 0 ? `; still running: ${names(running)}` : ''
    return stop(`${describePause(pass)}; not started: ${names(ready)}${started}`)
  }
  // `startLevels` has tried all ready items. An item that is still ready has another job that has not finished.
  if (running.length > 0 || ready.length > 0) return stop(`waiting for ${names([...running, ...ready])}`)
  if (blocked.length === 0) return done

  // Without a cycle, a dependency names no item; `checkItems` and `checkEdits` reject that before.
  const cycle = findCycle(blocked)
  return cycle === undefined
    ? fail('StuckDependencies', `deploy items wait, although no item runs: ${names(blocked)}`)
    : fail(
        'CyclicDependencies',
        `deploy items depend on each other: ${cycle.join(' -> ')}; remove one of these dependencies`,
      )
}

/** The phase fails. @param names of the failed items, also of items without a DeployItem object. */
function failedItems(names: readonly string[], failed: readonly DeployItemView[]): Outcome {
  return fail('DeployItemsFailed', `${formatFailed(names)}${formatErrors(failed)}`, errorCodes(failed))
}

function classesOf({ state, jobID, background: background }: ExecutionPass) {
  return classifyDeployItems(state.target.items, state.deployItems, jobID, (uid) => background.has(uid))
}

// Second part: names in a condition the items that other programs or other workers deploy, because such an item can
// wait without any other sign.
//
//   N1. The condition is part of two status writes that happen anyway: the write that enters phase Progressing and the
//       last write of the phase.
//   N2. No decision reads the condition (contract.ts, C3).

export function nameDeployers(pass: ExecutionPass): Outcome {
  const foreign = foreignItems(pass)
  // N1. Until the status has the phase, this pass's status write enters the phase.
  if (foreign.length > 0 && pass.state.target.phase !== 'Progressing') {
    const message = `${describeDeployers(foreign)}; each item waits for the deployer of its type`
    pass.draft.conditions.push({ type: DEPLOYERS_CONDITION, status: 'False', reason: 'WaitingForDeployers', message })
  }
  return done
}

/** Ends the condition with the phase, successful or not; also if the named items have been deleted meanwhile. */
export function resetDeployersCondition(pass: ExecutionPass): void {
  if (foreignItems(pass).length === 0 && pass.state.target.namesDeployers !== true) return
  const message = 'the job waits for no deployer'
  pass.draft.conditions.push({ type: DEPLOYERS_CONDITION, status: 'True', reason: 'JobFinished', message })
}

/** The items whose types this run does not handle. */
function foreignItems(pass: ExecutionPass): readonly DeployItemView[] {
  return pass.state.deployItems.filter((item) => !isHandled(item, pass))
}

/** The deployer is another program (`theirs`), or a deployer of Pawl in workers with other `--deployers` (`ours`). */
function describeDeployers(foreign: readonly DeployItemView[]): string {
  const ours = foreign.filter(({ type }) => isTypeBuiltIn(type))
  const theirs = foreign.filter(({ type }) => !isTypeBuiltIn(type))
  return [
    ...(theirs.length > 0
      ? [`items whose deployers are not part of Pawl: ${formatWithTypes(theirs)}${formatTypos(theirs)}`]
      : []),
    ...(ours.length > 0 ? [`items for workers that serve their types (--deployers): ${formatWithTypes(ours)}`] : []),
  ].join('; ')
}

/** For users who have mistyped a type of Pawl. */
function formatTypos(items: readonly DeployItemView[]): string {
  const typos = nearMisses(Object.fromEntries(items.map(({ type }) => [type, true])), [...BUILT_IN_TYPES])
  return typos.map(({ found, meant }) => `; "${found}": did you mean "${meant}"?`).join('')
}

function formatWithTypes(items: readonly DeployItemView[]): string {
  return names(items.map(({ item, type }) => ({ name: `${item} (${type})` })))
}
