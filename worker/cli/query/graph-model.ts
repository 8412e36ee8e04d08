// Builds a graph of an object and its parts: ownership, and the order and data flow between siblings. Pure.

import { findCycle, type Flow, groupKindText, type Node, type Path, textAt } from '../../../workflows/kit/index.ts'
import type { JobNode } from './job-tree.ts'

/** The order and data flow between objects of a kind (`JobModeController.siblings`). */
export interface SiblingRules {
  readonly name?: Path
  readonly after?: Path
  readonly flow?: (object: object) => Flow
}

export interface GraphNode {
  readonly id: string
  readonly jobNode: JobNode
  /** Undefined for the root. */
  readonly parent: string | undefined
  /** The name by which siblings refer to it, if other than its own name. */
  readonly alias: string | undefined
  /** Dependencies that no sibling satisfies. */
  readonly missing: readonly string[]
}

/** `from` comes before `to`. */
export interface GraphEdge {
  readonly from: string
  readonly to: string
  /** Names of the data that flows from `from` to `to`; empty for an order without data. */
  readonly data: readonly string[]
  readonly inCycle: boolean
}

export interface Graph {
  readonly nodes: readonly GraphNode[]
  readonly edges: readonly GraphEdge[]
  /** The first cycle of each family, as closed paths of IDs. */
  readonly cycles: readonly (readonly string[])[]
}

/** @param liveObjects by uid, the complete objects that could be read. */
export function graphOf(
  root: JobNode,
  rules: ReadonlyMap<string, SiblingRules>,
  liveObjects: ReadonlyMap<string, object>,
): Graph {
  const nodes: GraphNode[] = []
  const edges: GraphEdge[] = []
  const cycles: (readonly string[])[] = []
  let count = 0
  const add = (
    at: JobNode,
    parent: string | undefined,
    own: Omit<GraphNode, 'id' | 'jobNode' | 'parent'>,
    id: string,
  ) => {
    nodes.push({ id, jobNode: at, parent, ...own })
    const families = familiesOf(at.children)
    for (const [kind, members] of families) {
      const named = members.map((member) => ({ member, id: `n${++count}` }))
      const family = relateSiblings(named, rules.get(kind) ?? {}, liveObjects)
      edges.push(...family.edges)
      if (family.cycle !== undefined) cycles.push(family.cycle)
      for (const { member, id: below } of named)
        add(member, id, family.own.get(below) ?? { alias: undefined, missing: [] }, below)
    }
  }
  add(root, undefined, { alias: undefined, missing: [] }, 'n0')
  return { nodes, edges, cycles }
}

function familiesOf(children: readonly JobNode[]): ReadonlyMap<string, readonly JobNode[]> {
  const families = new Map<string, JobNode[]>()
  for (const child of children) {
    const kind = groupKindText(child.object)
    families.set(kind, [...(families.get(kind) ?? []), child])
  }
  return families
}

interface FamilyMember {
  readonly member: JobNode
  readonly id: string
}

function relateSiblings(
  family: readonly FamilyMember[],
  rules: SiblingRules,
  liveObjects: ReadonlyMap<string, object>,
) {
  const aliases = new Map(family.map((one) => [one.id, aliasOf(one, rules)]))
  const flows = new Map(family.map(({ member: { object }, id }) => [id, flowOf(liveObjects.get(object.uid), rules)]))
  const byName = grouped(family.map((one) => [aliases.get(one.id) ?? one.member.object.name, one.id]))
  const byData = grouped(family.flatMap(({ id }) => (flows.get(id)?.gives ?? []).map((name) => [name, id] as const)))
  const own = new Map<string, Pick<GraphNode, 'alias' | 'missing'>>()
  const before = new Map<string, ReadonlyMap<string, readonly string[]>>()
  for (const { id, member } of family) {
    const after = namesAfter(member, rules)
    const takes = [...new Set(flows.get(id)?.takes ?? [])]
    before.set(id, dataBySource(sourcesOf(after, byName), sourcesOf(takes, byData)))
    const missing = [...after.filter((name) => !byName.has(name)), ...takes.filter((name) => !byData.has(name))]
    own.set(id, { alias: aliases.get(id), missing })
  }
  const order: readonly Node[] = family.map(({ id }) => ({ name: id, dependsOn: [...(before.get(id)?.keys() ?? [])] }))
  const inCycle = cyclicEdges(order)
  const edges = order.flatMap(({ name: to, dependsOn }) =>
    dependsOn.map((from) => ({
      from,
      to,
      data: before.get(to)?.get(from) ?? [],
      inCycle: inCycle.has(`${from} ${to}`),
    })),
  )
  return { own, edges, cycle: findCycle(order)?.toReversed() }
}

type Source = readonly [from: string, name: string]

function sourcesOf(names: readonly string[], known: ReadonlyMap<string, readonly string[]>): readonly Source[] {
  return names.flatMap((name) => (known.get(name) ?? []).map((from) => [from, name] as const))
}

/** The dependencies of one sibling, each with the data that flows from it. */
function dataBySource(order: readonly Source[], flow: readonly Source[]): ReadonlyMap<string, readonly string[]> {
  const data = new Map<string, string[]>(order.map(([from]) => [from, []]))
  for (const [from, name] of flow) data.set(from, [...(data.get(from) ?? []), name])
  return data
}

function aliasOf({ member }: FamilyMember, { name }: SiblingRules): string | undefined {
  return name === undefined ? undefined : textAt(member.object.projection, name)
}

function namesAfter({ object }: JobNode, { after }: SiblingRules): readonly string[] {
  const text = after === undefined ? undefined : textAt(object.projection, after)
  const names = (text ?? '').split(',').map((name) => name.trim())
  return [...new Set(names.filter((name) => name !== ''))]
}

function flowOf(object: object | undefined, { flow }: SiblingRules): Flow | undefined {
  return object === undefined ? undefined : flow?.(object)
}

function grouped(pairs: readonly (readonly [string, string])[]): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>()
  for (const [key, value] of pairs) groups.set(key, [...(groups.get(key) ?? []), value])
  return groups
}

/** The dependencies that lie on a cycle, as `from to`. */
function cyclicEdges(nodes: readonly Node[]): ReadonlySet<string> {
  const remaining = new Map(withoutAcyclicNodes(nodes).map((node) => [node.name, node.dependsOn]))
  const found = new Set<string>()
  for (const from of remaining.keys()) {
    const reached = reachableFrom(from, remaining)
    for (const to of reached) if (remaining.get(to)?.includes(from) === true) found.add(`${from} ${to}`)
  }
  return found
}

function reachableFrom(start: string, edges: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const reached = new Set<string>()
  const open = [start]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const fresh = (edges.get(at) ?? []).filter((next) => !reached.has(next))
    for (const next of fresh) reached.add(next)
    open.push(...fresh)
  }
  return reached
}

/**
 * Removes nodes without dependencies, and nodes on which nothing depends, until all remaining nodes lie between cycles.
 * Usually nothing remains.
 */
function withoutAcyclicNodes(nodes: readonly Node[]): readonly Node[] {
  const names = new Set(nodes.map(({ name }) => name))
  const needed = new Set(nodes.flatMap(({ dependsOn }) => dependsOn))
  const remaining = nodes
    .map(({ name, dependsOn }) => ({ name, dependsOn: dependsOn.filter((one) => names.has(one)) }))
    .filter(({ name, dependsOn }) => dependsOn.length > 0 && needed.has(name))
  return remaining.length === nodes.length ? remaining : withoutAcyclicNodes(remaining)
}
