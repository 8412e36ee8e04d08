// What the wing's activities need beside the engine's dependencies.

import type { Deps } from '../deps.ts'
import type { TargetAccess } from './deploy/target/target-cluster.ts'
import type { TemplateEngine } from './render/template-engine.ts'

export interface LandscaperParts {
  readonly templates: TemplateEngine
  readonly targets: TargetAccess
  /** How long a triggered item may wait for a deployer that is not part of Pawl; undefined: for ever. */
  readonly pickupTimeoutMs: number | undefined
}

export interface LandscaperDeps extends Deps {
  readonly landscaper: LandscaperParts
}
