// Init: the deploy items become what the spec says; those it no longer names are deleted (orphans).
// Source: seeds/landscaper-execution-controller.txt "Init".

import type { Outcome } from '../../kit/index.ts'
import { nameDeployItems } from './deploy-item-cache.ts'
import { absorb, type ExecutionPass } from './pass.ts'

export async function applyDeployItems(pass: ExecutionPass): Promise<Outcome> {
  const { by, subject, jobID, state, act } = pass
  const { generation } = state.target
  const items = state.target.items.map(({ name }) => ({ name }))
  const applied = absorb(pass, await act.applyDeployItems({ by, subject, jobID, generation, items }))
  pass.draft.observedGeneration = generation
  pass.draft.marks.push('waitTime')
  // A pass that is made again for a fault would write them each time.
  if (applied.faults.length === 0) nameDeployItems(pass)
  return applied
}
