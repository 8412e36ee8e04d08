// Phase Progressing: names in a condition the items that wait for deployers outside of this run, because such an item can wait without any
// other sign.
//
//   N1. The condition is part of the first and the last status write of the phase; it causes no write of its own.
//   N2. No decision reads the condition (contract.ts, C3).

import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import { isServed } from '../deploy-item/pass.ts'
import { isTypeBuiltIn } from '../deploy-item/served-types.ts'
import { done, type Outcome } from '../../kit/index.ts'
import { type ExecutionPass, names } from './pass.ts'
import { DEPLOYERS_CONDITION } from './kind.ts'

export function nameDeployers(pass: ExecutionPass): Outcome {
  const foreign = foreignItems(pass)
  if (foreign.length > 0 && pass.state.target.phase !== 'Progressing') {
    const message = `${awaited(foreign)}; each waits for a deployer of its type`
    pass.draft.conditions.push({ type: DEPLOYERS_CONDITION, status: 'False', reason: 'WaitingForDeployers', message })
  }
  return done
}

/** Ends the condition with the phase, also for items that were removed from the spec and deleted. */
export function releaseDeployers(pass: ExecutionPass): void {
  if (foreignItems(pass).length === 0 && pass.state.target.namesDeployers !== true) return
  const message = 'no deployer is waited for'
  pass.draft.conditions.push({ type: DEPLOYERS_CONDITION, status: 'True', reason: 'JobFinished', message })
}

function foreignItems(pass: ExecutionPass): readonly DeployItemView[] {
  return pass.state.deployItems.filter((item) => !isServed(item, pass))
}

/** The missing deployer is either another program, or a worker with other --deployers. */
function awaited(foreign: readonly DeployItemView[]): string {
  const ours = foreign.filter(({ type }) => isTypeBuiltIn(type))
  const theirs = foreign.filter(({ type }) => !isTypeBuiltIn(type))
  return [
    ...(theirs.length > 0 ? [`items whose deployers are not part of Pawl: ${typed(theirs)}`] : []),
    ...(ours.length > 0 ? [`items for workers that serve their types (--deployers): ${typed(ours)}`] : []),
  ].join('; ')
}

function typed(items: readonly DeployItemView[]): string {
  return names(items.map(({ item, type }) => ({ name: `${item} (${type})` })))
}
