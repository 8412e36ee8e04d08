// Parses the name of an object on the command line: `inst/shop`, `installation shop`, `widgets.example.com/one`. Pure.

import type { GroupKind } from '../../../workflows/kit/index.ts'
import { namesOf, type NamedKind } from '../../plans/find-plans.ts'
import { UsageError } from '../../server/usage-error.ts'

/** A kind that can be queried, with all its names in lower case. */
export interface QueryableKind extends GroupKind {
  readonly names: readonly string[]
}

/** The kinds with a controller, and the other kinds that the bridge watches; only group and kind of the latter are known. */
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

/** @throws UsageError that lists the kinds. */
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

/** @param words `kind/name`, or `kind` and `name`. @throws UsageError */
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

/** Splits the words into the name of the object and the names of its items: `inst/shop db`, `inst shop db`. */
export function splitWords(words: readonly string[]): readonly [readonly string[], readonly string[]] {
  const end = words[0]?.includes('/') === true ? 1 : 2
  return [words.slice(0, end), words.slice(end)]
}

/** True if the words name a complete object. */
export function isComplete(object: readonly string[]): boolean {
  return object.length === 2 || object[0]?.includes('/') === true
}
