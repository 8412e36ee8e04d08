// What ComponentVersionOverwrites put in the place of references to components. Pure. Source: spec/landscaper.md 1.8.
//
//   O1. Entries are held, in their order, against the reference as it was written; what a source does not name matches anything.
//   O2. Nothing is replaced twice: an entry that would is left out as a whole, also what it alone would replace.

import { canonicalJson, writeJson } from '../../../workflows/kit/index.ts'
import type { ComponentVersionOverwrites } from '../../../workflows/landscaper/component-version-overwrites/kind.ts'

/** What leads to a component. */
export interface ReferenceParts {
  /** As an Installation or a Context writes it; undefined: none is known. */
  readonly repositoryContext: unknown
  readonly componentName: string
  readonly version: string
}

export type Overwrite = NonNullable<ComponentVersionOverwrites['overwrites']>[number]
type Replaced = Partial<ReferenceParts>

/** The reference that is meant, the same one where nothing matches. */
export function overwrite(reference: ReferenceParts, overwrites: readonly Overwrite[]): ReferenceParts {
  const replaced = overwrites
    .filter(({ source }) => matches(reference, partsOf(source)))
    .map(({ substitution }) => partsOf(substitution))
    .reduce((all, next) => (keysOf(next).some((key) => key in all) ? all : { ...all, ...next }), {})
  return keysOf(replaced).length === 0 ? reference : { ...reference, ...replaced }
}

/** `repository context {...} by {...}, example.com/shop:1.2.0 by example.com/shop:1.3.0` */
export function replacementText(from: ReferenceParts, to: ReferenceParts): string {
  const [before, after] = [from, to].map(({ componentName, version }) => `${componentName}:${version}`)
  const isElsewhere = canonicalJson(from.repositoryContext ?? null) !== canonicalJson(to.repositoryContext ?? null)
  const where = isElsewhere ? ` of ${writeJson(to.repositoryContext).slice(0, MAX_CONTEXT_LENGTH)}` : ''
  return `${before} by ${after}${where}`
}

const MAX_CONTEXT_LENGTH = 200

/** O1 */
function matches(reference: ReferenceParts, source: Replaced): boolean {
  return keysOf(source).every((key) => canonicalJson(reference[key] ?? null) === canonicalJson(source[key] ?? null))
}

/** What is named: an empty text is as good as none. */
function partsOf({ repositoryContext, componentName = '', version = '' }: Overwrite['source']): Replaced {
  return {
    ...(repositoryContext !== undefined && repositoryContext !== null && { repositoryContext }),
    ...(componentName !== '' && { componentName }),
    ...(version !== '' && { version }),
  }
}

function keysOf(parts: Replaced): readonly (keyof ReferenceParts)[] {
  return Object.keys(parts) as (keyof ReferenceParts)[]
}
