import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  exportedNames,
  flowGraph,
  importedNames,
  readFlow,
  shortestCycle,
  exportProblems,
  cycleProblem,
  isSuccessor,
  type DataFlow,
} from '../../../workflows/landscaper/data-flow.ts'

const imports = (...names: readonly string[]): DataFlow => ({
  imports: { data: names.map((dataRef) => ({ name: dataRef, dataRef })) },
})
const exports = (...names: readonly string[]): DataFlow => ({
  exports: { data: names.map((dataRef) => ({ name: dataRef, dataRef })) },
})

describe('a successor', () => {
  it('imports data that the other exports', () => {
    expect(isSuccessor(imports('a', 'b'), exports('b'))).toBe(true)
    expect(isSuccessor(imports('a'), exports('b'))).toBe(false)
    expect(isSuccessor({}, exports('b'))).toBe(false)
  })

  it.each([
    ['a target', { name: 'x', target: 't' }],
    ['a list', { name: 'x', targets: ['u', 't'] }],
    // Unlike the original, which leaves maps out (spec appendix B 8).
    ['a map', { name: 'x', targetMap: { one: 't' } }],
  ])('imports %s that the other exports', (_, one) => {
    const exporter = { exports: { targets: [{ name: 'e', target: 't' }] } }
    expect(isSuccessor({ imports: { targets: [one] } }, exporter)).toBe(true)
    expect(isSuccessor({ imports: { targets: [one] } }, exports('t'))).toBe(false)
  })

  it('is not derived from the elements of a list or map, which are the parent’s', () => {
    const one = { imports: { targets: [{ name: 'x', targetListRef: 't' }] } }
    expect(isSuccessor(one, { exports: { targets: [{ name: 'e', target: 't' }] } })).toBe(false)
  })
})

describe('siblings', () => {
  it('depend on the siblings whose exports they import', () => {
    const graph = flowGraph([
      { name: 'app', ...imports('address', 'port') },
      { name: 'db', ...exports('address') },
    ])
    expect(graph).toEqual([
      { name: 'app', dependsOn: ['db'] },
      { name: 'db', dependsOn: [] },
    ])
    const chain = [
      { name: 'app', ...imports('address') },
      { name: 'db', ...exports('address') },
    ]
    expect([exportProblems(chain), cycleProblem(chain)]).toEqual([[], undefined])
  })

  it('report two exporters of the same name', () => {
    const both = [
      { name: 'a', ...exports('x') },
      { name: 'b', ...exports('x') },
    ]
    expect(exportProblems(both)).toEqual(['data x is exported by a and b; export it from only one of them'])
  })

  it('in a cycle report the cycle, however long it is', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), (length) => {
        const ring = Array.from({ length }, (_, index) => ({
          name: `s${index}`,
          ...imports(`e${index}`),
          ...exports(`e${(index + 1) % length}`),
        }))
        const problem = cycleProblem(ring) ?? ''
        expect(problem.split(' -> ')).toHaveLength(length + 1)
      }),
    )
  })
})

describe('a cycle through a sibling', () => {
  it('is the shortest one', () => {
    const graph = [
      { name: 'a', dependsOn: ['b', 'c', 'x'] },
      { name: 'b', dependsOn: ['c'] },
      { name: 'c', dependsOn: ['a'] },
      { name: 'x', dependsOn: ['y'] },
      { name: 'y', dependsOn: ['x'] },
    ]
    expect(shortestCycle('a', graph)).toEqual(['a', 'c', 'a'])
    expect(shortestCycle('b', graph)).toEqual(['b', 'c', 'a', 'b'])
    expect(shortestCycle('z', [...graph, { name: 'z', dependsOn: ['a'] }])).toBeUndefined()
  })
})

describe('the data flow of an unchecked spec', () => {
  it('has the fields that are valid', () => {
    const spec = {
      imports: { data: [{ dataRef: 'a' }, { dataRef: 1 }, null], targets: [{ targetMap: { one: 't', two: [] } }] },
      exports: { data: 'none', targets: [{ name: 'e', target: 'u' }] },
    }
    const flow = readFlow(spec)
    expect([importedNames(flow), exportedNames(flow)]).toEqual([['data a', 'target t'], ['target u']])
    expect(importedNames(readFlow({ imports: 7 }))).toEqual([])
  })
})
