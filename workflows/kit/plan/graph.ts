// Dependency graphs by name: what is wrong with one, which of its nodes may go next, and why none may. Pure.
//
//   G1. Every node is in exactly one class.
//   G2. Forward a node is ready when all that it depends on have finished, well or not: whether a failure stops the rest is the plan's to say.
//   G3. Backward a node is ready when nothing that is there depends on it, whatever has become of that.
//   G4. A graph without cycle and without unknown names is never stuck: while some node waits, one is ready or running, or, backward, has failed.

export interface Node {
  readonly name: string
  readonly dependsOn: readonly string[]
}

export type NodeState = 'waiting' | 'running' | 'succeeded' | 'failed'

/** The nodes by what can be done with them; the order of the graph is what is `ready` next, over and over. */
export interface NodeClasses<One> {
  readonly succeeded: readonly One[]
  readonly failed: readonly One[]
  readonly running: readonly One[]
  /** May begin now. */
  readonly ready: readonly One[]
  /** Waits for others. */
  readonly blocked: readonly One[]
}

/** Classes for the way forward (G2). A name that no node has never finishes. */
export function classifyForward<One extends Node>(
  nodes: readonly One[],
  stateOf: (node: One) => NodeState,
): NodeClasses<One> {
  const states = new Map(nodes.map((node) => [node.name, stateOf(node)]))
  const isFinished = (name: string) => states.get(name) === 'succeeded' || states.get(name) === 'failed'
  return classify(nodes, stateOf, ({ dependsOn }) => dependsOn.every(isFinished))
}

/** Classes for the way back (G3), on which what has succeeded is gone: `nodes` are those still there. */
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
    classes[state !== 'waiting' ? state : mayBegin(node) ? 'ready' : 'blocked'].push(node)
  }
  return classes
}

/** What is wrong with a node beside cycles (`findCycle`). */
export type NodeDefect =
  | { readonly defect: 'unnamed' | 'named twice' }
  /** It depends on a name that no node has. */
  | { readonly defect: 'unknown dependency'; readonly name: string }

/** The defects of each node, in the order of the nodes. Of nodes with one name the first has it. */
export function nodeDefects(nodes: readonly Node[]): readonly (readonly NodeDefect[])[] {
  const known = new Set(nodes.map(({ name }) => name))
  const seen = new Set<string>()
  return nodes.map(({ name, dependsOn }): readonly NodeDefect[] => {
    const own: NodeDefect[] = name === '' ? [{ defect: 'unnamed' }] : seen.has(name) ? [{ defect: 'named twice' }] : []
    seen.add(name)
    const unknown = new Set(dependsOn.filter((one) => !known.has(one)))
    return [...own, ...[...unknown].map((one) => ({ defect: 'unknown dependency' as const, name: one }))]
  })
}

/**
 * The first cycle met in the order of the nodes, as a closed path: `['a', 'b', 'c', 'a']` reads "a depends on b depends on c depends on a".
 * Unknown names lead nowhere. Undefined when there is no cycle.
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
