// Builds the imports of an Installation for its blueprint. Runs in the phases Init and Completing. Source: spec/landscaper.md 2.3 "Init" 4-6 and
// "Completing" 2.

import type { Installation } from '../../../workflows/landscaper/installation/kind.ts'
import type { LandscaperDeps } from '../deps.ts'
import type { Blueprint } from '../render/blueprint/blueprint.ts'
import { constructImports, type ConstructedImports } from '../render/imports.ts'
import { type GivenImports, loadImports } from './imports.ts'

export interface InstallationImports extends ConstructedImports {
  /** For `status.importsHash`; undefined when nothing is imported, neither from objects nor by mapping or default. */
  readonly hash: string | undefined
}

/** @throws as `loadImports` and `constructImports`. */
export async function prepareImports(
  deps: LandscaperDeps,
  installation: Installation,
  blueprint: Blueprint,
): Promise<InstallationImports> {
  return await construct(deps, installation, blueprint, await loadImports(deps, installation))
}

/** Maps, completes and validates loaded imports. @throws BlueprintError */
export async function construct(
  deps: LandscaperDeps,
  installation: Installation,
  blueprint: Blueprint,
  given: GivenImports,
): Promise<InstallationImports> {
  const spec = installation.spec
  const constructed = await constructImports(deps.landscaper.templates, blueprint, {
    blueprintSpec: spec.blueprint,
    loaded: given,
    mappings: spec.importDataMappings ?? {},
  })
  const isEmpty = Object.keys(constructed.data).length + Object.keys(constructed.targetObjects).length === 0
  return { ...constructed, hash: given.count === 0 && isEmpty ? undefined : given.hash }
}
