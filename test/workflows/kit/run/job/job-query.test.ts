import { describe, expect, it } from 'vitest'

import { checkJobQueries, jobQueryProblem, type StateQuery } from '../../../../../workflows/kit/index.ts'

const kind = 'example.com/v1/Gadget'
const named: StateQuery = { kind, name: '${target.metadata.name}', owned: true }
const labelled: StateQuery = { kind, many: true, labels: { a: '${target.metadata.uid}' }, owned: true }

describe('a query of a controller in mode job', () => {
  it.each<[string, StateQuery]>([
    ['the owned object of a name', named],
    ['all owned objects', { kind, many: true, owned: true }],
    ['owned objects with labels', { ...labelled, labels: { a: '${target.metadata.namespace}.x', b: 'y' } }],
  ])('can select by %s', (_, query) => {
    expect(jobQueryProblem(query)).toBeUndefined()
  })

  it('is rejected with its state when the controller is loaded', () => {
    const gadgets = { name: 'gadget', mode: 'job', queries: { parts: { ...labelled, fresh: true } } } as const
    expect(() => checkJobQueries(gadgets)).toThrow("controller gadget, in mode job: state parts: found 'fresh'")
    expect(() => checkJobQueries({ ...gadgets, queries: { parts: labelled } })).not.toThrow()
  })

  it.each<[StateQuery, string]>([
    [{ kind, many: true, labels: { a: 'b' } }, "'owned' is missing"],
    [{ ...named, namespace: 'n' }, "found 'namespace'"],
    [{ ...labelled, fields: { 'spec.a': 'b' } }, 'found a field selector'],
    [{ ...labelled, controller: '${target.metadata.name}' }, 'found a field selector'],
    [{ ...labelled, fresh: true }, "found 'fresh'"],
    [{ ...named, many: true }, "found 'name' for a list"],
    [{ kind, labels: { a: 'b' }, owned: true }, "'name' is missing for a single object"],
    [{ ...named, labels: { a: 'b' } }, 'found labels and name'],
    [
      { ...labelled, labels: { a: '${target.metadata.name}-${target.spec.group}' } },
      'found a reference to target.spec.group; expected one of target.metadata.name, target.metadata.namespace, target.metadata.uid',
    ],
    [{ ...named, name: '${target.metadata.labels.app}' }, 'found a reference to target.metadata.labels.app'],
  ])('rejects %j', (query, problem) => {
    expect(jobQueryProblem(query)?.text).toContain(problem)
  })
})
