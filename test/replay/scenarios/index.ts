// All recorded scenarios, in four sets: runs in level mode need their controller, and two sets need their own Temporal server.

import { importScenarios } from './imports.ts'
import { jobScenarios } from './jobs.ts'
import { continuedLevelScenarios, levelScenarios } from './levels.ts'
import { continuedScenarios, manifestScenarios } from './manifests.ts'
import { rootScenarios } from './roots.ts'
import type { Scenarios } from './scenario.ts'
import { treeScenarios } from './trees.ts'

export const ORDINARY: Scenarios = {
  ...jobScenarios,
  ...manifestScenarios,
  ...importScenarios,
  ...treeScenarios,
  ...rootScenarios,
}
export const SHORT_HISTORIES: Scenarios = continuedScenarios
export const LEVELS: Scenarios = levelScenarios
export const SHORT_LEVELS: Scenarios = continuedLevelScenarios
export const SCENARIOS: Scenarios = { ...ORDINARY, ...SHORT_HISTORIES, ...LEVELS, ...SHORT_LEVELS }
