import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import {
  classifyBackward,
  classifyForward,
  findCycle,
  nodeDefects,
  type NodeClasses,
  type NodeState,
} from '../../../../workflows/kit/index.ts'

interface Node {
  name: string
  dependsOn: string[]
}

interface StatedNode extends Node {
  state: NodeState
}

const names = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
const graphs: fc.Arbitrary<Node[]> = fc.uniqueArray(
  fc.record({ name: names, dependsOn: fc.uniqueArray(fc.oneof(names, fc.constant('unknown'))) }),
  { selector: ({ name }) => name },
)

const stated = (states: readonly NodeState[]): fc.Arbitrary<StatedNode[]> =>
  fc.uniqueArray(
    fc.record({
      name: names,
      state: fc.constantFrom(...states),
      dependsOn: fc.uniqueArray(fc.oneof(names, fc.constant('unknown'))),
    }),
    { selector: ({ name }) => name },
  )
const forward: fc.Arbitrary<StatedNode[]> = stated(['waiting', 'waiting', 'running', 'succeeded', 'failed'])
const backward = stated(['waiting', 'waiting', 'running', 'failed'])

const stateOf = ({ state }: StatedNode) => state
const stateOfLeft = ({ state }: StatedNode) => (state === 'succeeded' ? 'failed' : state)

describe('a dependency graph', () => {
  it('has a cycle exactly when its nodes cannot all be removed leaves first', () => {
    fc.assert(
      fc.property(graphs, (nodes) => {
        expect(findCycle(nodes) !== undefined).toBe(unremovable(nodes).length > 0)
      }),
    )
  })

  it('reports a cycle as a closed path along its edges, with each name once', () => {
    fc.assert(
      fc.property(graphs, (nodes) => {
        const cycle = findCycle(nodes)
        if (cycle === undefined) return
        expect(cycle.at(-1)).toBe(cycle[0])
        expect(new Set(cycle).size).toBe(cycle.length - 1)
        for (const [index, name] of cycle.slice(0, -1).entries()) {
          expect(nodes.find((node) => node.name === name)?.dependsOn).toContain(cycle[index + 1])
        }
      }),
    )
  })

  it('reports a cycle in the direction of the dependencies', () => {
    const nodes = [
      { name: 'app', dependsOn: ['a'] },
      { name: 'a', dependsOn: ['b'] },
      { name: 'b', dependsOn: ['c'] },
      { name: 'c', dependsOn: ['a'] },
    ]
    expect(findCycle(nodes)).toEqual(['a', 'b', 'c', 'a'])
    expect(findCycle([{ name: 'a', dependsOn: ['a'] }])).toEqual(['a', 'a'])
  })

  it('can be a chain of any length', () => {
    const chain = Array.from({ length: 20_000 }, (_, index) => ({ name: `n${index}`, dependsOn: [`n${index + 1}`] }))
    expect(findCycle(chain)).toBeUndefined()
  })
})

describe('the classes of the nodes', () => {
  const all = (classes: NodeClasses<StatedNode>) =>
    Object.values(classes)
      .flat()
      .map(({ name }: StatedNode) => name)

  it('contain every node once, forward and backward', () => {
    fc.assert(
      fc.property(forward, (nodes) => {
        const sorted = nodes.map(({ name }) => name).toSorted()
        expect(all(classifyForward(nodes, stateOf)).toSorted()).toEqual(sorted)
        expect(all(classifyBackward(nodes, stateOfLeft)).toSorted()).toEqual(sorted)
      }),
    )
  })

  it('have no ready node forward before all its dependencies have finished', () => {
    fc.assert(
      fc.property(forward, (nodes) => {
        const { ready, blocked } = classifyForward(nodes, stateOf)
        const finished = nodes
          .filter(({ state }) => state === 'succeeded' || state === 'failed')
          .map(({ name }) => name)
        const isFree = ({ dependsOn }: StatedNode) => dependsOn.every((name) => finished.includes(name))
        expect(ready.filter((node) => !isFree(node))).toEqual([])
        expect(blocked.filter(isFree)).toEqual([])
      }),
    )
  })

  it('have no ready node backward while an existing node depends on it', () => {
    fc.assert(
      fc.property(backward, (nodes) => {
        const { ready, blocked } = classifyBackward(nodes, stateOfLeft)
        const isFree = ({ name }: StatedNode) => nodes.every(({ dependsOn }) => !dependsOn.includes(name))
        expect(ready.filter((node) => !isFree(node))).toEqual([])
        expect(blocked.filter(isFree)).toEqual([])
      }),
    )
  })

  it('empty in an order of the dependencies exactly when there is no cycle', () => {
    const known = graphs.map((nodes) =>
      nodes.map(({ name, dependsOn }) => ({ name, dependsOn: dependsOn.filter((one) => hasName(nodes, one)) })),
    )
    fc.assert(
      fc.property(known, (nodes) => {
        const isEndless = findCycle(nodes) !== undefined
        const there = run(nodes)
        expect(there.length === nodes.length).toBe(!isEndless)
        expect(
          there.every(({ dependsOn }, index) => dependsOn.every((one) => hasName(there.slice(0, index), one))),
        ).toBe(true)
        const left = runBack(nodes)
        expect(left.length === 0).toBe(!isEndless)
      }),
    )
  })

  it('are never stuck without a cycle, in any state', () => {
    fc.assert(
      fc.property(forward, (all) => {
        const nodes = all.map((node) => ({ ...node, dependsOn: node.dependsOn.filter((one) => hasName(all, one)) }))
        if (findCycle(nodes) !== undefined) return
        const { ready, running, blocked } = classifyForward(nodes, stateOf)
        expect(blocked.length > 0 && ready.length + running.length === 0).toBe(false)
        const back = classifyBackward(nodes, stateOfLeft)
        expect(back.blocked.length > 0 && back.ready.length + back.running.length + back.failed.length === 0).toBe(
          false,
        )
      }),
    )
  })
})

describe('the name defects of a graph', () => {
  it('are reported for each node in order', () => {
    const nodes = [
      { name: 'a', dependsOn: ['b', 'c'] },
      { name: '', dependsOn: [] },
      { name: 'b', dependsOn: [] },
      { name: 'a', dependsOn: ['d'] },
    ]
    expect(nodeDefects(nodes)).toEqual([
      [{ defect: 'unknown dependency', name: 'c' }],
      [{ defect: 'unnamed' }],
      [],
      [{ defect: 'named twice' }, { defect: 'unknown dependency', name: 'd' }],
    ])
  })
})

function hasName(nodes: readonly Node[], name: string): boolean {
  return nodes.some((node) => node.name === name)
}

/** The nodes in the order in which they come to run. */
function run(nodes: readonly Node[], done: readonly Node[] = []): readonly Node[] {
  const { ready } = classifyForward(nodes, (node) => (done.includes(node) ? 'succeeded' : 'waiting'))
  return ready.length === 0 ? done : run(nodes, [...done, ...ready])
}

/** Those that cannot be taken away. */
function runBack(nodes: readonly Node[]): readonly Node[] {
  const { ready, blocked } = classifyBackward(nodes, () => 'waiting')
  return ready.length === 0 ? blocked : runBack(blocked)
}

function unremovable(nodes: readonly Node[]): Node[] {
  const left = nodes.filter(({ dependsOn }) => dependsOn.some((name) => nodes.some((node) => node.name === name)))
  return left.length === nodes.length ? left : unremovable(left)
}
