// The settings of the worker's flags for the Context `default` of each namespace. Source: spec/landscaper.md 1.7, 5.4 `contexts.config.default`.

import type { ActivityContext, FlagValues } from '../../../workflows/kit/index.ts'
import { readRepositoryContext, type RepositoryFields } from '../../../workflows/landscaper/flag-values.ts'
import type { landscaperWing } from '../../../workflows/landscaper/wing.ts'

export interface DefaultContexts {
  readonly excluded: readonly string[]
  /** The `repositoryContext` of all default Contexts; undefined: other controllers may set the field. */
  readonly repositoryContext: RepositoryFields | undefined
}

type Flags = FlagValues<typeof landscaperWing.flags>

/** Undefined if namespaces get no default Context. */
export function readDefaultContexts(flags: Partial<Flags>): DefaultContexts | undefined {
  if (flags['default-contexts'] !== true) return undefined
  const repository = flags['default-context-repository']
  return {
    excluded: flags['default-context-excluded'] ?? [],
    repositoryContext: repository === undefined ? undefined : readRepositoryContext(repository),
  }
}

/** Whether a namespace gets a default Context. */
export function getsContext(defaults: DefaultContexts | undefined, namespace: string): boolean {
  return defaults?.excluded.includes(namespace) === false
}

/** The desired Context of a namespace; null for none. The passes of workflows/landscaper/context/ call this activity. */
export async function describeContext(
  { namespace }: { readonly namespace: string },
  { flags = {} }: { readonly flags?: ActivityContext['flags'] },
): Promise<Pick<DefaultContexts, 'repositoryContext'> | null> {
  const defaults = readDefaultContexts(flags)
  const wanted = getsContext(defaults, namespace) ? { repositoryContext: defaults?.repositoryContext } : null
  return await Promise.resolve(wanted)
}
