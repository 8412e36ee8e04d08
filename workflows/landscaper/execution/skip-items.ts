// Progressing: items that somebody has left out end as succeeded, begun or not, so that those behind them can begin. In a deletion they are
// uninstalled as all others: what an earlier job has deployed is there. Source: docs/adr/0053.

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
