// The dependencies of the wing's activities, in addition to the engine's.

import type { Deps } from '../deps.ts'
import type { JobBlueprints } from './components/job-blueprints.ts'
import type { DefaultContexts } from './context/default-contexts.ts'
import type { Registries } from './components/registries.ts'
import type { KubeconfigCache } from './kubeconfigs/kubeconfig-cache.ts'
import type { Protection } from './deploy/target/protection.ts'
import type { TargetAccess } from './deploy/target/target-cluster.ts'
import type { TemplateEngines } from './render/engine/template-engine.ts'
import type { Trust } from './trust.ts'

export interface ComponentParts {
  /** The folder of local repositories; undefined if the operator has set none. */
  readonly registryFolder: string | undefined
  readonly registries: Registries
  /** The components to verify: those of Installations that request it, all, or none. */
  readonly signatures: 'asked' | 'always' | 'never'
  /** The blueprints of running jobs with a component. */
  readonly blueprints: JobBlueprints
}

export interface LandscaperParts {
  readonly components: ComponentParts
  readonly templates: TemplateEngines
  readonly targets: TargetAccess
  readonly protection: Protection
  /** The kubeconfigs that were issued for templates. */
  readonly kubeconfigs: KubeconfigCache
  /** How long a triggered item may wait for a deployer that is not part of Pawl; undefined: without limit. */
  readonly pickupTimeoutMs: number | undefined
  /** The default Contexts of namespaces; undefined: none are created. */
  readonly defaultContexts?: DefaultContexts | undefined
  /** True: objects without owner are not adopted, and ServiceAccounts are only used where they allow it. Source: docs/concepts/security.md. */
  readonly strictTenancy: boolean
  /** Places of YAML texts with more than one document that the activity has read (further-documents.ts). */
  readonly furtherDocuments?: ReadonlySet<string>
  /** Which records of the webhook are trusted; absent: none. */
  readonly trust?: () => Promise<Trust>
}

export interface LandscaperDeps extends Deps {
  readonly landscaper: LandscaperParts
}

/** The dependencies from the `parts` of a controller's own activity. @throws a plain Error (a bug) when another wing created them. */
export function depsOf(parts: unknown): LandscaperDeps {
  if (typeof parts !== 'object' || parts === null || !('landscaper' in parts))
    throw new Error('found no parts of the wing landscaper; expected what its wing.ts opens')
  return parts as LandscaperDeps
}
