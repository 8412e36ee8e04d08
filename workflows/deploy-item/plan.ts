// What a deploy group does in a pass. Phases are the items' own. Source: spec/landscaper.md 2.9.

import { action, sequential } from '../kit/index.ts'
import { beginItem } from './begin-item.ts'
import type { DeployGroupPass } from './controller.ts'
import { deployItems } from './deploy-items.ts'

export const deployPlan = sequential<DeployGroupPass>(
  action('beginItem', beginItem),
  action('deployItems', deployItems),
)
