// All that is recorded, in two sets: the second one needs a Temporal of its own.

import { importScenarios } from './imports.ts'
import { jobScenarios } from './jobs.ts'
import { continuedScenarios, manifestScenarios } from './manifests.ts'
import type { Scenarios } from './scenario.ts'

export const ORDINARY: Scenarios = { ...jobScenarios, ...manifestScenarios, ...importScenarios }
export const SHORT_HISTORIES: Scenarios = continuedScenarios
export const SCENARIOS: Scenarios = { ...ORDINARY, ...SHORT_HISTORIES }
