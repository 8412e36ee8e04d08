// What a deploy group does in a pass. Phases are the items' own. Source: spec/landscaper.md 2.9.

import { sequential } from '../../kit/index.ts'
import { beginItem } from './begin-item.ts'
import type { DeployGroupPass } from './pass.ts'
import { deployGroupSteps } from './controller.gen.ts'
import { deployGroup } from './deploy-group.ts'

const step = deployGroupSteps({ beginItem, deployItems: deployGroup })

export const deployPlan = sequential<DeployGroupPass>(step.beginItem, step.deployItems)
