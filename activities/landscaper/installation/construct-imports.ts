// The imports of an Installation as its blueprint wants them, or what is wrong with them. In Init and again in Completing.
// Source: spec/landscaper.md 2.3 "Init" 4-6 and "Completing" 2.

import type { Installation } from '../../../workflows/landscaper/installation/kind.ts'
import { ApplicationFailure } from '@temporalio/common'
import type { LandscaperDeps } from '../deps.ts'
import type { Blueprint } from '../render/blueprint.ts'
import { BlueprintError } from '../render/blueprint-error.ts'
import { constructImports, type ConstructedImports } from '../render/imports.ts'
import { type GivenImports, loadImports } from './imports.ts'

/** What the author of an Installation or a blueprint can mend, as a final fault. */
export interface ImportFault {
  readonly code: string
  readonly message: string
}

export interface InstallationImports extends ConstructedImports {
  /** For `status.importsHash`; undefined when nothing is imported, neither from objects nor by mapping or default. */
  readonly hash: string | undefined
}

/**
 * Runs what reads or checks imports.
 *
 * @returns its result, or the fault that stands for its final failures; others, such as no answer of the API server, pass.
 */
export async function withImportFaults<T>(work: () => Promise<T>): Promise<T | { readonly fault: ImportFault }> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof BlueprintError) return { fault: { code: error.code, message: error.message } }
    if (error instanceof ApplicationFailure && error.nonRetryable === true) {
      return { fault: { code: error.type ?? 'Unknown', message: error.message } }
    }
    throw error
  }
}

/** @throws as `loadImports` and `constructImports`. */
export async function prepareImports(
  deps: LandscaperDeps,
  installation: Installation,
  blueprint: Blueprint,
): Promise<InstallationImports> {
  return await construct(deps, installation, blueprint, await loadImports(deps, installation))
}

/** Maps, completes and checks imports that were loaded. @throws BlueprintError */
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
