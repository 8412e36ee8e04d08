// The plan of an item's own run. The phases belong to the item. Source: spec/landscaper.md 2.9.

import { sequential } from '../../kit/index.ts'
import { beginItem, guardItem } from './begin-item.ts'
import { deployItemSteps } from './controller.gen.ts'
import { deployItem } from './deploy-items.ts'
import type { ItemPass } from './pass.ts'

const step = deployItemSteps<ItemPass>({ beginItem, guardItem, deployItem })

export const deployPlan = sequential<ItemPass>(step.beginItem, step.guardItem, step.deployItem)
