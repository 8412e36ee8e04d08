// Dependency graphs by name. Pure; used where a graph is checked and where a stuck one is explained.

export interface Node {
  readonly name: string
  readonly dependsOn: readonly string[]
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
