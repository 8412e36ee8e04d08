import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { findCycle } from '../../../../workflows/kit/index.ts'

interface Node {
  name: string
  dependsOn: string[]
}

const names = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
const graphs: fc.Arbitrary<Node[]> = fc.uniqueArray(
  fc.record({ name: names, dependsOn: fc.uniqueArray(fc.oneof(names, fc.constant('unknown'))) }),
  { selector: ({ name }) => name },
)

describe('a dependency graph', () => {
  it('has a cycle exactly when its nodes cannot all be removed leaves first', () => {
    fc.assert(
      fc.property(graphs, (nodes) => {
        expect(findCycle(nodes) !== undefined).toBe(unremovable(nodes).length > 0)
      }),
    )
  })

  it('gives a cycle as a closed path along its edges, each name once', () => {
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

  it('tells a cycle in the direction of the dependencies', () => {
    const nodes = [
      { name: 'app', dependsOn: ['a'] },
      { name: 'a', dependsOn: ['b'] },
      { name: 'b', dependsOn: ['c'] },
      { name: 'c', dependsOn: ['a'] },
    ]
    expect(findCycle(nodes)).toEqual(['a', 'b', 'c', 'a'])
    expect(findCycle([{ name: 'a', dependsOn: ['a'] }])).toEqual(['a', 'a'])
  })

  it('may be a chain of any length', () => {
    const chain = Array.from({ length: 20_000 }, (_, index) => ({ name: `n${index}`, dependsOn: [`n${index + 1}`] }))
    expect(findCycle(chain)).toBeUndefined()
  })
})

function unremovable(nodes: readonly Node[]): Node[] {
  const left = nodes.filter(({ dependsOn }) => dependsOn.some((name) => nodes.some((node) => node.name === name)))
  return left.length === nodes.length ? left : unremovable(left)
}
