// Phase Init: writes the DeployItems that the spec names and deletes the DeployItems that it no longer names (orphans).
// Source: seeds/landscaper-execution-controller.txt "Init".

import { done, joinOutcomes, type Outcome } from '../../kit/index.ts'
import { versionsOf } from './observe-execution.ts'
import { nameDeployItems } from './deploy-item-cache.ts'
import { absorb, type ExecutionPass } from './pass.ts'

export async function applyDeployItems(pass: ExecutionPass): Promise<Outcome> {
  const { by, subject, jobID, state, act } = pass
  const { generation } = state.target
  const items = state.target.items.map(({ name }) => ({ name }))
  let applied = done
  let only: readonly string[] | undefined
  do {
    const known = versionsOf(pass.state.deployItems)
    const result = await act.applyDeployItems({ by, subject, jobID, generation, items, known, ...(only && { only }) })
    applied = joinOutcomes(applied, absorb(pass, result))
    only = result.left ?? []
  } while (only.length > 0)
  pass.draft.observedGeneration = generation
  pass.draft.marks.push('waitTime')
  // With faults the step runs again, and each repetition would write the names again.
  if (applied.faults.length === 0) nameDeployItems(pass)
  return applied
}
