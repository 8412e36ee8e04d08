// One pass over the unfinished items of a group: those that nobody hosts.

import type { Outcome } from '../../kit/index.ts'
import { deployItems } from './deploy-items.ts'
import { QUICK_TYPES } from './deployers.gen.ts'
import { type DeployGroupPass, isUnfinished } from './pass.ts'

export async function deployGroup(pass: DeployGroupPass): Promise<Outcome> {
  const unfinished = pass.state.deployItems.filter((item) => isUnfinished(item, pass.jobID))
  pass.tracks.retain(new Set(unfinished.filter(({ type }) => !QUICK_TYPES.has(type)).map(({ uid }) => uid)))
  return await deployItems(pass, unfinished, false)
}
