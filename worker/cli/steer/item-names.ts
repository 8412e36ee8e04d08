// Finds the items of an object by their names in its blueprint: `inst/shop db`, and `inst/shop backend/db` for an item
// of its sub-installation `backend`. Pure.

import { textAt, joinNames } from '../../../workflows/kit/index.ts'
import { singleLine } from '../query/format.ts'
import type { LiveNode } from './live-tree.ts'
import type { Steering } from './open-object.ts'

/** Commands that apply to items. */
export type ItemCommand = 'retry' | 'skip'

interface Item extends Pick<LiveNode, 'kind' | 'object'> {
  /** The names of the sub-installations between the object and the item, and the item's name, joined with `/`. */
  readonly path: string
}

/** True if the kind is a kind of items. */
export function isItem({ steering }: { readonly steering: Steering }, act: ItemCommand): boolean {
  return steering[act] !== undefined
}

/** All items below the object, sorted by depth. An item without its own name has the name of its object. */
export function itemsBelow(node: LiveNode, act: ItemCommand): readonly Item[] {
  return below(node, act, []).sort(
    (a, b) => depthOf(a.path) - depthOf(b.path) || (a.path < b.path ? -1 : Number(a.path > b.path)),
  )
}

function below(node: LiveNode, act: ItemCommand, before: readonly string[]): Item[] {
  return node.children.flatMap((child) => {
    const { kind, object } = child
    if (isItem(kind, act)) return [{ kind, object, path: [...before, nameWithin(child)].join('/') }]
    const isCalled = kind.steering.nameInParent !== undefined
    return below(child, act, isCalled ? [...before, nameWithin(child)] : before)
  })
}

function nameWithin({ kind, object }: LiveNode): string {
  const { nameInParent } = kind.steering
  return (nameInParent && textAt(object, nameInParent)) ?? object.metadata.name
}

const depthOf = (called: string): number => called.split('/').length

/**
 * Finds each named item once.
 *
 * @param title the object's name for messages.
 * @throws an Error that lists the items.
 */
export function findItems(title: string, parts: readonly Item[], names: readonly string[]): readonly Item[] {
  return [...new Set(names)].map((name) => {
    const [found, other] = parts.filter(({ path: called }) => called === name)
    if (found !== undefined && other === undefined) return found
    if (found === undefined || other === undefined)
      throw new Error(`${title} has no item '${singleLine(name, 100)}', expected ${expectedItems(parts, name)}`)
    throw new Error(
      `several items of ${title} are called '${name}', expected one of them: ${titleOf(found)}, ${titleOf(other)}`,
    )
  })
}

function titleOf({ kind, object }: Item): string {
  return `${kind.kind.toLowerCase()}/${object.metadata.name}`
}

const MOST_NAMED = 20

/** Lists the item names for an error message; similar names come first. */
export function expectedItems(parts: readonly Item[], found = ''): string {
  if (parts.length === 0) return 'one that is there: it has none yet'
  const names = parts.map(({ path: called }) => called)
  const alike = names.filter((name) => found !== '' && (name.includes(found) || found.includes(name)))
  return `one of ${joinNames([...new Set([...alike, ...names])], MOST_NAMED)}`
}
