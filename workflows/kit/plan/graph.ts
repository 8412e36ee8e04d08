// Dependency graphs of named nodes: defects, nodes that can start, and cycles. Pure.
//
//   G1. Every node is in exactly one class.
//   G2. Forward, a node is ready when all its dependencies have finished, successfully or not; the plan decides whether a failure stops the rest.
//   G3. Backward, a node is ready when no existing node depends on it, regardless of their state.
//   G4. Without cycles and unknown names a graph is never stuck: while a node waits, another one is ready or running, or, backward, has failed.

export interface Node {
  readonly name: string
  readonly dependsOn: readonly string[]
}

export type NodeState = 'waiting' | 'running' | 'succeeded' | 'failed'

/** The nodes by class, in the order of the graph. */
export interface NodeClasses<One> {
  readonly succeeded: readonly One[]
  readonly failed: readonly One[]
  readonly running: readonly One[]
  /** Can start now. */
  readonly ready: readonly One[]
  /** Waits for other nodes. */
  readonly blocked: readonly One[]
}

/** Classes for installation order (G2). A dependency on an unknown name is never satisfied. */
export function classifyForward<One extends Node>(
  nodes: readonly One[],
  stateOf: (node: One) => NodeState,
): NodeClasses<One> {
  const states = new Map(nodes.map((node) => [node.name, stateOf(node)]))
  const isFinished = (name: string) => states.get(name) === 'succeeded' || states.get(name) === 'failed'
  return classify(nodes, stateOf, ({ dependsOn }) => dependsOn.every(isFinished))
}

/** Classes for deletion order (G3), in which successful nodes no longer exist: `nodes` are the remaining ones. */
export function classifyBackward<One extends Node>(
  nodes: readonly One[],
  stateOf: (node: One) => Exclude<NodeState, 'succeeded'>,
): NodeClasses<One> {
  const needed = new Set(nodes.flatMap(({ dependsOn }) => dependsOn))
  return classify(nodes, stateOf, ({ name }) => !needed.has(name))
}

function classify<One extends Node>(
  nodes: readonly One[],
  stateOf: (node: One) => NodeState,
  mayBegin: (node: One) => boolean,
): NodeClasses<One> {
  const classes = {
    succeeded: [] as One[],
    failed: [] as One[],
    running: [] as One[],
    ready: [] as One[],
    blocked: [] as One[],
  }
  for (const node of nodes) {
    const state = stateOf(node)
    const waiting = mayBegin(node) ? 'ready' : 'blocked'
    classes[state === 'waiting' ? waiting : state].push(node)
  }
  return classes
}

/** A defect of a node other than a cycle (`findCycle`). */
export type NodeDefect =
  | { readonly defect: 'unnamed' | 'named twice' }
  /** The dependency names no node. */
  | { readonly defect: 'unknown dependency'; readonly name: string }

/** The defects in the order of the nodes. Of several nodes with one name, the first is valid. */
export function nodeDefects(nodes: readonly Node[]): readonly (readonly NodeDefect[])[] {
  const known = new Set(nodes.map(({ name }) => name))
  const seen = new Set<string>()
  return nodes.map(({ name, dependsOn }): readonly NodeDefect[] => {
    const own: NodeDefect[] = []
    if (name === '') own.push({ defect: 'unnamed' })
    else if (seen.has(name)) own.push({ defect: 'named twice' })
    seen.add(name)
    const unknown = new Set(dependsOn.filter((one) => !known.has(one)))
    return [...own, ...[...unknown].map((one) => ({ defect: 'unknown dependency' as const, name: one }))]
  })
}

/**
 * The first cycle in the order of the nodes, as a closed path: `['a', 'b', 'c', 'a']` means that a depends on b, b on c and c on a. Unknown names are
 * ignored. Undefined without a cycle.
 */
export function findCycle(nodes: readonly Node[]): readonly string[] | undefined {
  const byName = new Map(nodes.map((node) => [node.name, node]))
  const cleared = new Set<string>()

  for (const start of nodes) {
    const cycle = walk(start.name, byName, cleared)
    if (cycle !== undefined) return cycle
  }
  return undefined
}

// Iterative, because a chain may be thousands of nodes long.
function walk(start: string, byName: ReadonlyMap<string, Node>, cleared: Set<string>): readonly string[] | undefined {
  const trail: { name: string; next: number }[] = [{ name: start, next: 0 }]
  const onTrail = new Set([start])
  for (let top = trail.at(-1); top !== undefined; top = trail.at(-1)) {
    const successor = byName.get(top.name)?.dependsOn[top.next++]
    if (successor === undefined || cleared.has(top.name)) {
      cleared.add(top.name)
      onTrail.delete(top.name)
      trail.pop()
    } else if (onTrail.has(successor)) {
      const names = trail.map(({ name }) => name)
      return [...names.slice(names.indexOf(successor)), successor]
    } else if (!cleared.has(successor) && byName.has(successor)) {
      trail.push({ name: successor, next: 0 })
      onTrail.add(successor)
    }
  }
  return undefined
}
