// What the wing's activities need beside the engine's dependencies.

import type { Deps } from '../deps.ts'
import type { JobBlueprints } from './components/job-blueprints.ts'
import type { DefaultContexts } from './context/default-contexts.ts'
import type { Registries } from './components/registries.ts'
import type { LatelyIssued } from './kubeconfigs/lately-issued.ts'
import type { Protection } from './deploy/target/protection.ts'
import type { TargetAccess } from './deploy/target/target-cluster.ts'
import type { TemplateEngines } from './render/engine/template-engine.ts'
import type { Trust } from './trust.ts'

export interface ComponentParts {
  /** Where repositories of type local lie; undefined: there are none. */
  readonly registryFolder: string | undefined
  readonly registries: Registries
  /** Which components are verified: those of Installations that ask for it, all, or none. */
  readonly signatures: 'asked' | 'always' | 'never'
  /** Of the open jobs whose Installation is of a component. */
  readonly blueprints: JobBlueprints
}

export interface LandscaperParts {
  readonly components: ComponentParts
  readonly templates: TemplateEngines
  readonly targets: TargetAccess
  readonly protection: Protection
  /** Issued for templates. */
  readonly kubeconfigs: LatelyIssued
  /** How long a triggered item may wait for a deployer that is not part of Pawl; undefined: for ever. */
  readonly pickupTimeoutMs: number | undefined
  /** What namespaces get for a Context of itself; undefined: none. */
  readonly defaultContexts?: DefaultContexts | undefined
  /** True: what is nobody's is not taken, and ServiceAccounts only where they allow it. Source: docs/security.md. */
  readonly strictTenancy: boolean
  /** Places of YAML texts with more than one document, as an activity finds them (further-documents.ts). */
  readonly furtherDocuments?: ReadonlySet<string>
  /** What is believed of the webhook's records; absent: nothing. */
  readonly trust?: () => Promise<Trust>
}

export interface LandscaperDeps extends Deps {
  readonly landscaper: LandscaperParts
}

/** The dependencies from the `parts` of a controller's own activity. @throws a plain Error (a bug) when another wing opened them. */
export function depsOf(parts: unknown): LandscaperDeps {
  if (typeof parts !== 'object' || parts === null || !('landscaper' in parts))
    throw new Error('found no parts of the wing landscaper; expected what its wing.ts opens')
  return parts as LandscaperDeps
}
