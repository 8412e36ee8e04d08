// The controller of Disruptions with its plans.

import { addPlans, type LevelController } from '../../kit/index.ts'
import { disruptionDeclaration } from './declaration.ts'
import type { Disruption } from './kind.ts'
import type { DisruptionState } from './pass.ts'
import { disruptionPlans } from './plan.ts'

export const disruptionController: LevelController<DisruptionState, Disruption> = addPlans(
  disruptionDeclaration,
  disruptionPlans,
)
