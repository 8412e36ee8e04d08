import { describe, expect, it } from 'vitest'

import { createPatch } from '../../../worker/webhook/json-patch.ts'

const AT = ['metadata', 'annotations', 'example.org/a~b']

describe('the JSON patch of a change', () => {
  it('makes what is missing above the field', () => {
    expect(createPatch({}, [{ path: AT, value: 'x' }])).toEqual({
      operations: [{ op: 'add', path: '/metadata', value: { annotations: { 'example.org/a~b': 'x' } } }],
      object: { metadata: { annotations: { 'example.org/a~b': 'x' } } },
    })
    expect(createPatch({ metadata: { name: 'n' } }, [{ path: AT, value: 'x' }]).operations).toEqual([
      { op: 'add', path: '/metadata/annotations', value: { 'example.org/a~b': 'x' } },
    ])
  })

  it('makes it once, and leaves what is beside the field', () => {
    const changes = [
      { path: AT, value: 'x' },
      { path: ['metadata', 'annotations', 'c'], value: 'y' },
    ]
    const { operations, object } = createPatch({ metadata: { name: 'n' } }, changes)
    expect(operations.map(({ path }) => path)).toEqual(['/metadata/annotations', '/metadata/annotations/c'])
    expect(object).toEqual({ metadata: { name: 'n', annotations: { 'example.org/a~b': 'x', c: 'y' } } })
  })

  it('takes a field away, and changes nothing of what is so already', () => {
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
