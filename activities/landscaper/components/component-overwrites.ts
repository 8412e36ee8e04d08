// Applies ComponentVersionOverwrites to a reference to a component. Pure. Source: spec/landscaper.md 1.8.
//
//   O1. Entries are compared in order with the reference as written; a field that the source does not name matches any value.
//   O2. No field is replaced twice: an entry that would replace a replaced field is ignored as a whole.

import { canonicalJson, writeJson } from '../../../workflows/kit/index.ts'
import type { ComponentVersionOverwrites } from '../../../workflows/landscaper/component-version-overwrites/kind.ts'

/** The parts of a reference to a component. */
export interface ReferenceParts {
  /** The repository context of the Installation or the Context; undefined if there is none. */
  readonly repositoryContext: unknown
  readonly componentName: string
  readonly version: string
}

export type Overwrite = NonNullable<ComponentVersionOverwrites['overwrites']>[number]
type Replacement = Partial<ReferenceParts>

/** The reference after replacements; the same object if no entry matches. */
export function overwrite(reference: ReferenceParts, overwrites: readonly Overwrite[]): ReferenceParts {
  const replaced = overwrites
    .filter(({ source }) => matches(reference, partsOf(source)))
    .map(({ substitution }) => partsOf(substitution))
    .reduce((all, next) => (keysOf(next).some((key) => key in all) ? all : { ...all, ...next }), {})
  return keysOf(replaced).length === 0 ? reference : { ...reference, ...replaced }
}

/** For example `example.com/shop:1.2.0 by example.com/shop:1.3.0 of {...}`. */
export function replacementText(from: ReferenceParts, to: ReferenceParts): string {
  const [before, after] = [from, to].map(({ componentName, version }) => `${componentName}:${version}`)
  const isElsewhere = canonicalJson(from.repositoryContext ?? null) !== canonicalJson(to.repositoryContext ?? null)
  const where = isElsewhere ? ` of ${writeJson(to.repositoryContext).slice(0, MAX_CONTEXT_LENGTH)}` : ''
  return `${before} by ${after}${where}`
}

const MAX_CONTEXT_LENGTH = 200

/** Implements O1. */
function matches(reference: ReferenceParts, source: Replacement): boolean {
  return keysOf(source).every((key) => canonicalJson(reference[key] ?? null) === canonicalJson(source[key] ?? null))
}

/** The named fields; an empty text counts as absent. */
function partsOf({ repositoryContext, componentName = '', version = '' }: Overwrite['source']): Replacement {
  return {
    ...(repositoryContext !== undefined && repositoryContext !== null && { repositoryContext }),
    ...(componentName !== '' && { componentName }),
    ...(version !== '' && { version }),
  }
}

function keysOf(parts: Replacement): readonly (keyof ReferenceParts)[] {
  return Object.keys(parts) as (keyof ReferenceParts)[]
}
