// Which object is meant: `inst/shop`, `installation shop`, `widgets.example.com/one`. Pure.

import type { GroupKind } from '../../../workflows/kit/index.ts'
import { namesOf, type NamedKind } from '../../plans/find-plans.ts'
import { UsageError } from '../../server/usage-error.ts'

/** A kind that can be asked for, with all its names in small letters. */
export interface QueryableKind extends GroupKind {
  readonly names: readonly string[]
}

/** Those with a controller, and what else the bridge follows, of which only kind and group are known. */
export function queryableKinds(
  controlled: readonly NamedKind[],
  followed: readonly GroupKind[],
): readonly QueryableKind[] {
  const known = controlled.map((kind) => ({ group: kind.group, kind: kind.kind, names: namesOf(kind) }))
  const others = followed.filter(({ group, kind }) => !known.some((one) => one.group === group && one.kind === kind))
  return [...known, ...others.map(({ group, kind }) => ({ group, kind, names: simpleNames(group, kind) }))]
}

function simpleNames(group: string, kind: string): readonly string[] {
  const name = kind.toLowerCase()
  return [name, `${name}s`].flatMap((one) => [one, `${one}.${group}`])
}

/** @throws UsageError that says which there are. */
export function kindNamed(text: string, kinds: readonly QueryableKind[]): QueryableKind {
  const found = kinds.filter(({ names }) => names.includes(text.toLowerCase()))
  const [only] = found
  if (only !== undefined && found.length === 1) return only
  if (found.length > 1)
    throw new UsageError(
      `'${text}' is the name of ${found.length} kinds, expected one of ${found.map(({ kind, group }) => `${kind}.${group}`).join(', ')}`,
    )
  throw new UsageError(
    `no kind is called '${text}', expected one of ${kinds.map(({ kind }) => kind).join(', ')}, or a short name`,
  )
}

/** @param words of the command line: `kind/name`, or `kind` and `name`. @throws UsageError */
export function objectNamed(
  words: readonly string[],
  kinds: readonly QueryableKind[],
): { readonly kind: QueryableKind; readonly name: string } {
  const [first = '', ...rest] = words
  const parts = rest.length === 0 ? first.split('/') : [first, ...rest]
  const [kind = '', name = ''] = parts
  if (parts.length !== 2 || kind === '' || name === '')
    throw new UsageError(`found '${words.join(' ')}', expected an object such as inst/shop or inst shop`)
  return { kind: kindNamed(kind, kinds), name }
}

/** What of the words means the object, as far as it goes, and what its items: `inst/shop db`, `inst shop db`. */
export function splitWords(words: readonly string[]): readonly [readonly string[], readonly string[]] {
  const end = words[0]?.includes('/') === true ? 1 : 2
  return [words.slice(0, end), words.slice(end)]
}

/** The words of an object are all there. */
export function isComplete(object: readonly string[]): boolean {
  return object.length === 2 || object[0]?.includes('/') === true
}
