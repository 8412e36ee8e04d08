// Finds the items of an object by their names in its blueprint: `inst/shop db`, and `inst/shop backend/db` for an item
// of its sub-installation `backend`. Pure.

import { textAt } from '../../../workflows/kit/index.ts'
import { singleLine } from '../query/format.ts'
import { expectedName } from '../suggestion.ts'
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
    if (isItem(kind, act)) return [{ kind, object, path: [...before, itemName(child)].join('/') }]
    const isCalled = kind.steering.nameInParent !== undefined
    return below(child, act, isCalled ? [...before, itemName(child)] : before)
  })
}

/** The name of the child in the blueprint of its parent, else of its object. */
export function itemName({ kind, object }: LiveNode): string {
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
      throw new Error(`${title}: item "${singleLine(name, 100)}" does not exist; ${expectedItems(parts, name)}`)
    throw new Error(
      `${title}: several items have the name "${name}"; name the object instead: ${titleOf(found)} or ${titleOf(other)}`,
    )
  })
}

function titleOf({ kind, object }: Item): string {
  return `${kind.kind.toLowerCase()}/${object.metadata.name}`
}

/** The hint for an unknown name: the similar item, else the names of the items. */
export function expectedItems(parts: readonly Item[], found = ''): string {
  if (parts.length === 0) return 'it has no items yet'
  const names = [...new Set(parts.map(({ path: called }) => called))]
  const alike = names.filter((name) => found !== '' && (name.endsWith(`/${found}`) || found.endsWith(`/${name}`)))
  return expectedName(found, [...new Set([...alike, ...names])])
}
