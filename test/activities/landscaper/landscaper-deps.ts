// Creates the landscaper wing's dependencies for tests. By default, items without a deployer have no pickup timeout.

import type { Deps } from '../../../activities/deps.ts'
import { type Activities, createActivities } from '../../../activities/index.ts'
import { JobBlueprints } from '../../../activities/landscaper/components/job-blueprints.ts'
import { createRegistries } from '../../../activities/landscaper/components/registries.ts'
import type { LandscaperDeps, LandscaperParts } from '../../../activities/landscaper/deps.ts'
import { createProtection } from '../../../activities/landscaper/deploy/target/protection.ts'
import { createTargetAccess } from '../../../activities/landscaper/deploy/target/open-target.ts'
import { KubeconfigCache } from '../../../activities/landscaper/kubeconfigs/kubeconfig-cache.ts'
import { createTemplateEngine } from '../../../activities/landscaper/render/engine/template-engine.ts'
import { landscaperActivities, landscaperEnds, landscaperReleases } from '../../../activities/landscaper/wing.ts'

/** The threads start when the first work needs them. */
const templates = createTemplateEngine({ threads: 1 })

export function landscaperDeps(deps: Deps, parts: Partial<LandscaperParts> = {}): LandscaperDeps {
  const targets = createTargetAccess({ ...deps, data: (customer) => templates.of(customer).data })
  const registries = createRegistries({ allow: [], now: deps.now })
  const blueprints = new JobBlueprints()
  const components = { registryFolder: undefined, registries, blueprints, signatures: 'asked' as const }
  const kubeconfigs = new KubeconfigCache()
  const protection = createProtection(deps, true)
  const usual = {
    protection,
    templates,
    components,
    targets,
    kubeconfigs,
    pickupTimeoutMs: undefined,
    strictTenancy: false,
  }
  return { ...deps, landscaper: { ...usual, ...parts } }
}

/** The activities as a worker with this wing registers them. */
export function activitiesOf(deps: LandscaperDeps): Activities {
  return createActivities(deps, [landscaperActivities(deps)], landscaperEnds(deps), landscaperReleases(deps))
}
