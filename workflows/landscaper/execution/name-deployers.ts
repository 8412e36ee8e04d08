// Progressing: says on the Execution itself whom it waits for beside its run, because an item that no deployer takes up just waits.
//
//   N1. The condition rides on writes that happen anyway, the first and the last of the phase; it causes none of its own.
//   N2. Decisions are made without it (conditions.ts C3).

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

/** The phase ends: nobody is waited for any more, also not for an item that has left the spec and is gone. */
export function releaseDeployers(pass: ExecutionPass): void {
  if (foreignItems(pass).length === 0 && pass.state.target.namesDeployers !== true) return
  const message = 'no deployer is waited for'
  pass.draft.conditions.push({ type: DEPLOYERS_CONDITION, status: 'True', reason: 'JobFinished', message })
}

function foreignItems(pass: ExecutionPass): readonly DeployItemView[] {
  return pass.state.deployItems.filter((item) => !isServed(item, pass))
}

/** Who is missing is another program, or a worker that serves the type. */
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
