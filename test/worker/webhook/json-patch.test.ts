import { describe, expect, it } from 'vitest'

import { createPatch } from '../../../worker/webhook/json-patch.ts'

const AT = ['metadata', 'annotations', 'example.org/a~b']

describe('a JSON patch', () => {
  it('creates missing parents of a field', () => {
    expect(createPatch({}, [{ path: AT, value: 'x' }])).toEqual({
      operations: [{ op: 'add', path: '/metadata', value: { annotations: { 'example.org/a~b': 'x' } } }],
      object: { metadata: { annotations: { 'example.org/a~b': 'x' } } },
    })
    expect(createPatch({ metadata: { name: 'n' } }, [{ path: AT, value: 'x' }]).operations).toEqual([
      { op: 'add', path: '/metadata/annotations', value: { 'example.org/a~b': 'x' } },
    ])
  })

  it('creates them once and keeps other fields', () => {
    const changes = [
      { path: AT, value: 'x' },
      { path: ['metadata', 'annotations', 'c'], value: 'y' },
    ]
    const { operations, object } = createPatch({ metadata: { name: 'n' } }, changes)
    expect(operations.map(({ path }) => path)).toEqual(['/metadata/annotations', '/metadata/annotations/c'])
    expect(object).toEqual({ metadata: { name: 'n', annotations: { 'example.org/a~b': 'x', c: 'y' } } })
  })

  it('removes a field, and has no operation for an unchanged value', () => {
    const object = { metadata: { annotations: { 'example.org/a~b': 'x' } } }
    expect(createPatch(object, [{ path: AT, value: undefined }])).toEqual({
      operations: [{ op: 'remove', path: '/metadata/annotations/example.org~1a~0b' }],
      object: { metadata: { annotations: {} } },
    })
    expect(createPatch(object, [{ path: AT, value: 'x' }]).operations).toEqual([])
    expect(createPatch({}, [{ path: AT, value: undefined }]).operations).toEqual([])
    expect(createPatch(object, [{ path: AT, value: 'y' }]).operations).toEqual([
      { op: 'add', path: '/metadata/annotations/example.org~1a~0b', value: 'y' },
    ])
  })
})
