// The parts of an object by the names that they have in its blueprint: `inst/shop db`, and `inst/shop backend/db` for an item of its sub-installation
// `backend`. Pure.

import { textAt } from '../../../workflows/kit/index.ts'
import { shown } from '../query/format.ts'
import type { LiveNode } from './live-tree.ts'
import type { Steering } from './open-object.ts'

/** What is done to parts alone. */
export type PartAct = 'retry' | 'skip'

interface Part extends Pick<LiveNode, 'kind' | 'object'> {
  /** With the names of what it lies in before it, from below the object that is asked for on, and `/` between them. */
  readonly called: string
}

/** Whether it is one by itself. */
export function isPart({ steering }: { readonly steering: Steering }, act: PartAct): boolean {
  return steering[act] !== undefined
}

/** All that lie below, however deep, its own first. What says no name of its own is called as its object is. */
export function partsBelow(node: LiveNode, act: PartAct): readonly Part[] {
  return below(node, act, []).sort(
    (a, b) => depthOf(a.called) - depthOf(b.called) || (a.called < b.called ? -1 : Number(a.called > b.called)),
  )
}

function below(node: LiveNode, act: PartAct, before: readonly string[]): Part[] {
  return node.children.flatMap((child) => {
    const { kind, object } = child
    if (isPart(kind, act)) return [{ kind, object, called: [...before, nameWithin(child)].join('/') }]
    const isCalled = kind.steering.nameInParent !== undefined
    return below(child, act, isCalled ? [...before, nameWithin(child)] : before)
  })
}

function nameWithin({ kind, object }: LiveNode): string {
  const { nameInParent: calledAt } = kind.steering
  return (calledAt && textAt(object, calledAt)) ?? object.metadata.name
}

const depthOf = (called: string): number => called.split('/').length

/**
 * Each part that is named, once.
 *
 * @param title of the object, for messages.
 * @throws with the parts that there are.
 */
export function partsNamed(title: string, parts: readonly Part[], names: readonly string[]): readonly Part[] {
  return [...new Set(names)].map((name) => {
    const [found, other] = parts.filter(({ called }) => called === name)
    if (found !== undefined && other === undefined) return found
    if (found === undefined || other === undefined)
      throw new Error(`${title} has no item '${shown(name, 100)}', expected ${expected(parts, name)}`)
    throw new Error(
      `several items of ${title} are called '${name}', expected one of them: ${titleOf(found)}, ${titleOf(other)}`,
    )
  })
}

function titleOf({ kind, object }: Part): string {
  return `${kind.kind.toLowerCase()}/${object.metadata.name}`
}

const MOST_NAMED = 20

/** What there is, in words; first what is called much as what was found. */
export function expected(parts: readonly Part[], found = ''): string {
  if (parts.length === 0) return 'one that is there: it has none yet'
  const names = parts.map(({ called }) => called)
  const alike = names.filter((name) => found !== '' && (name.includes(found) || found.includes(name)))
  const listed = [...new Set([...alike, ...names])]
  const more = listed.length - MOST_NAMED
  return `one of ${listed.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
