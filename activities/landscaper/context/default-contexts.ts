// What the worker's flags say of the Context `default` of each namespace. Source: spec/landscaper.md 1.7, 5.4 `contexts.config.default`.
//
//   The activity is what the passes of workflows/landscaper/context/ call.

import type { ActivityContext, FlagValues } from '../../../workflows/kit/index.ts'
import { readRepositoryContext, type RepositoryFields } from '../../../workflows/landscaper/flag-values.ts'
import type { landscaperWing } from '../../../workflows/landscaper/wing.ts'

export interface DefaultContexts {
  readonly excluded: readonly string[]
  /** What they have for a `repositoryContext`; undefined: that is left to others. */
  readonly repositoryContext: RepositoryFields | undefined
}

type Flags = FlagValues<typeof landscaperWing.flags>

/** Undefined: namespaces get none. */
export function readDefaultContexts(flags: Partial<Flags>): DefaultContexts | undefined {
  if (flags['default-contexts'] !== true) return undefined
  const repository = flags['default-context-repository']
  return {
    excluded: flags['default-context-excluded'] ?? [],
    repositoryContext: repository === undefined ? undefined : readRepositoryContext(repository),
  }
}

/** Whether a namespace gets one. */
export function getsContext(defaults: DefaultContexts | undefined, namespace: string): boolean {
  return defaults?.excluded.includes(namespace) === false
}

/** What the Context of a namespace is to say; null where it is to have none. */
export async function describeContext(
  { namespace }: { readonly namespace: string },
  { flags = {} }: { readonly flags?: ActivityContext['flags'] },
): Promise<Pick<DefaultContexts, 'repositoryContext'> | null> {
  const defaults = readDefaultContexts(flags)
  const wanted = getsContext(defaults, namespace) ? { repositoryContext: defaults?.repositoryContext } : null
  return await Promise.resolve(wanted)
}
