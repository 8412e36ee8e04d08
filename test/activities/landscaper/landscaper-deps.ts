// The wing's part of the dependencies, for tests: without templates, and nobody waits for a deployer, unless the test says otherwise.

import type { Deps } from '../../../activities/deps.ts'
import { type Activities, createActivities } from '../../../activities/index.ts'
import type { LandscaperDeps, LandscaperParts } from '../../../activities/landscaper/deps.ts'
import { createTargetAccess } from '../../../activities/landscaper/deploy/target/open-target.ts'
import type { TemplateEngine } from '../../../activities/landscaper/render/template-engine.ts'
import { landscaperActivities } from '../../../activities/landscaper/wing.ts'

export function landscaperDeps(deps: Deps, parts: Partial<LandscaperParts> = {}): LandscaperDeps {
  const templates = undefined as unknown as TemplateEngine
  const targets = createTargetAccess(deps)
  const usual = { templates, targets, pickupTimeoutMs: undefined, strictTenancy: false }
  return { ...deps, landscaper: { ...usual, ...parts } }
}

/** The activities as a worker with this wing registers them. */
export function activitiesOf(deps: LandscaperDeps): Activities {
  return createActivities(deps, [landscaperActivities(deps)])
}
