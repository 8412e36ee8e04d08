// Phase Progressing: ends items that a user has skipped as succeeded, started or not, so that their dependents can start. A deletion
// uninstalls
// skipped items like all others, because an earlier job may have deployed them. Source: docs/adr/0053.

import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import { done, isIdle, type Outcome } from '../../kit/index.ts'
import { letGo } from './interrupt-items.ts'
import { absorbAll, type ExecutionPass, insist } from './pass.ts'

export async function skipItems(pass: ExecutionPass): Promise<Outcome> {
  const { state, jobID } = pass
  if (!state.deployItems.some(({ isSkipped }) => isSkipped === true)) return done
  const wanted = new Set(state.target.items.map(({ name }) => name))
  const isDue = (item: DeployItemView) =>
    item.isSkipped === true && wanted.has(item.item) && !item.deleting && (item.jobID === jobID || isIdle(item))
  const isOver = (item: DeployItemView) => item.jobIDFinished === jobID && item.phase === 'Succeeded'
  const ended = insist(
    await absorbAll(
      pass,
      'skipItems',
      state.deployItems.filter((item) => isDue(item) && !isOver(item)),
    ),
  )
  letGo(pass)
  return ended
}
