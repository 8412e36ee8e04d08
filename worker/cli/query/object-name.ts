// Parses the name of an object on the command line: `inst/shop`, `installation shop`, `widgets.example.com/one`. Pure.

import { type GroupKind, isSameGroupKind } from '../../../workflows/kit/index.ts'
import { namesOf, type NamedKind } from '../../plans/find-plans.ts'
import { UsageError } from '../../server/usage-error.ts'
import { expectedName, similarName, suggestedCommand } from '../suggestion.ts'
import { singleLine } from './format.ts'

/** A kind that can be queried, with all its names in lower case. */
export interface QueryableKind extends GroupKind {
  readonly names: readonly string[]
  /** False if no bridge follows the kind, so that the journal has no objects of it. */
  readonly isFollowed: boolean
}

/**
 * The kinds with a controller, and the other kinds that the bridge follows; only group and kind of the latter are known.
 *
 * @param followed empty if it is unknown which kinds the bridge follows.
 */
export function queryableKinds(
  controlled: readonly NamedKind[],
  followed: readonly GroupKind[],
): readonly QueryableKind[] {
  const known = controlled.map((kind) => ({
    group: kind.group,
    kind: kind.kind,
    names: namesOf(kind),
    isFollowed: followed.length === 0 || followed.some((one) => isSameGroupKind(one, kind)),
  }))
  const others = followed.filter((one) => !known.some((kind) => isSameGroupKind(one, kind)))
  const named = others.map(({ group, kind }) => ({ group, kind, names: simpleNames(group, kind), isFollowed: true }))
  return [...known, ...named]
}

function simpleNames(group: string, kind: string): readonly string[] {
  const name = kind.toLowerCase()
  return [name, `${name}s`].flatMap((one) => [one, `${one}.${group}`])
}

/** @throws UsageError for an unknown or ambiguous name, and for a kind that no bridge follows. */
export function kindNamed(text: string, kinds: readonly QueryableKind[]): QueryableKind {
  const found = kinds.filter(({ names }) => names.includes(text.toLowerCase()))
  const [only] = found
  if (only !== undefined && found.length === 1) return followed(only)
  if (found.length > 1)
    throw new UsageError(
      `kind "${text}" is the name of ${found.length} kinds; expected ${found.map(({ kind, group }) => `${kind}.${group}`).join(' or ')}`,
    )
  if (text.includes('/'))
    throw new UsageError(
      `"${singleLine(text, 200)}" names an object; expected a kind, such as inst; for one object use ${suggestedCommand(`why ${singleLine(text, 200)}`)} or ${suggestedCommand(`trace ${singleLine(text, 200)}`)}`,
    )
  throw new UsageError(`kind "${singleLine(text, 200)}" does not exist; ${expectedKind(text, kinds)}`)
}

/** @param text names of kinds, separated by commas. @throws UsageError as `kindNamed` */
export function kindsNamed(text: string, kinds: readonly QueryableKind[]): readonly QueryableKind[] {
  return [...new Set(text.split(',').map((name) => kindNamed(name, kinds)))]
}

function followed(kind: QueryableKind): QueryableKind {
  if (kind.isFollowed) return kind
  throw new UsageError(
    `kind "${kind.kind}" is not in the journal, because no bridge follows it; start Pawl with its wing, see --wings`,
  )
}

function expectedKind(text: string, kinds: readonly QueryableKind[]): string {
  const offered = kinds.filter(({ isFollowed }) => isFollowed)
  const names = offered.flatMap((kind) => kind.names.map((name) => ({ name, kind: kind.kind })))
  const similar = similarName(
    text,
    names.map(({ name }) => name),
  )
  const meant = names.find(({ name }) => name === similar)?.kind
  return expectedName(
    meant ?? text,
    offered.map(({ kind }) => kind),
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
    throw new UsageError(`object "${words.join(' ')}" is invalid; expected kind/name or kind name, such as inst/shop`)
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
