// Puts the nodes of anchors in the place of their aliases, as far as the expanded document stays within limits. After that the document has no aliases, and
// the cost of its conversion is linear in its size.

import { type Document, isAlias, isCollection, isNode, isPair, isScalar } from 'yaml'

export interface ExpandedSize {
  readonly nodes: number
  readonly characters: number
}

export interface AliasProblem {
  readonly problem: 'too large' | 'unknown' | 'contains itself'
  /** Where in the text. */
  readonly offset: number
}

/** Of an anchor; without a size while its node is being read. */
interface Anchor {
  readonly node: unknown
  size?: ExpandedSize
}

class Stopped extends Error {
  readonly found: AliasProblem
  constructor(problem: AliasProblem['problem'], node: unknown) {
    super(problem)
    this.found = { problem, offset: isNode(node) ? (node.range?.[0] ?? 0) : 0 }
  }
}

/** @returns the first problem with an alias; undefined if all aliases are replaced. @throws RangeError for too many levels. */
export function expandAliases(document: Document.Parsed, most: ExpandedSize): AliasProblem | undefined {
  try {
    const expanded = expand(document.contents, { anchors: new Map(), most })
    document.contents = expanded.node as typeof document.contents
    return undefined
  } catch (error) {
    if (error instanceof Stopped) return error.found
    throw error
  }
}

interface Expansion {
  readonly anchors: Map<string, Anchor>
  readonly most: ExpandedSize
}

interface Expanded {
  readonly node: unknown
  readonly size: ExpandedSize
}

function expand(node: unknown, expansion: Expansion): Expanded {
  if (isAlias(node)) {
    const anchor = expansion.anchors.get(node.source)
    if (anchor === undefined) throw new Stopped('unknown', node)
    if (anchor.size === undefined) throw new Stopped('contains itself', node)
    return { node: anchor.node, size: anchor.size }
  }
  const anchor: Anchor = { node }
  const name = (isScalar(node) || isCollection(node)) && node.anchor
  if (typeof name === 'string') expansion.anchors.set(name, anchor)
  anchor.size = isCollection(node) ? sizeOfItems(node.items, expansion) : sizeOfScalar(node)
  return { node, size: anchor.size }
}

function sizeOfItems(items: unknown[], expansion: Expansion): ExpandedSize {
  let [nodes, characters] = [1, 0]
  const add = (part: unknown): unknown => {
    const { node, size } = expand(part, expansion)
    nodes += size.nodes
    characters += size.characters
    if (nodes > expansion.most.nodes || characters > expansion.most.characters) throw new Stopped('too large', part)
    return node
  }
  for (const [index, item] of items.entries()) {
    if (!isPair(item)) items[index] = add(item)
    else {
      item.key = add(item.key)
      item.value = add(item.value)
    }
  }
  return { nodes, characters }
}

function sizeOfScalar(node: unknown): ExpandedSize {
  const value = isScalar(node) ? node.value : undefined
  return { nodes: 1, characters: typeof value === 'string' ? value.length : 0 }
}
