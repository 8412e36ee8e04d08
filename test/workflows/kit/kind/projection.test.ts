import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import {
  annotation,
  canonicalJson,
  hashedContent,
  label,
  path,
  projectObject,
  textAt,
  valueAt,
} from '../../../../workflows/kit/index.ts'

const object = {
  kind: 'Execution',
  apiVersion: 'landscaper.gardener.cloud/v1alpha1',
  metadata: {
    uid: 'u',
    namespace: 'n',
    name: 'e',
    generation: 3,
    resourceVersion: '17',
    managedFields: [{ manager: 'kubectl' }],
    labels: { 'a.b/c': 'kept', other: 'dropped' },
    annotations: { 'landscaper.gardener.cloud/operation': 'reconcile', secret: 'dropped' },
    ownerReferences: [
      { apiVersion: 'v1', kind: 'Node', name: 'x', uid: 'x' },
      { apiVersion: 'g/v1', kind: 'Installation', name: 'i', uid: 'iu', controller: true, blockOwnerDeletion: true },
    ],
  },
  spec: { deployItems: [{ name: 'canary' }] },
  status: { phase: 'Init', jobID: 'j', exportRef: { name: 'x', namespace: 'n' } },
}

describe('a projected object', () => {
  const paths = [
    path('status.phase'),
    path('status.exportRef'),
    path('status.absent.deeper'),
    label('a.b/c'),
    annotation('landscaper.gardener.cloud/operation'),
  ]

  it('contains its identity, its controller and the declared paths only, in the structure of the object', () => {
    expect(projectObject(object, paths)).toEqual({
      metadata: {
        name: 'e',
        namespace: 'n',
        uid: 'u',
        generation: 3,
        labels: { 'a.b/c': 'kept' },
        annotations: { 'landscaper.gardener.cloud/operation': 'reconcile' },
        ownerReferences: [{ apiVersion: 'g/v1', kind: 'Installation', name: 'i', uid: 'iu', controller: true }],
      },
      status: { phase: 'Init', exportRef: { name: 'x', namespace: 'n' } },
    })
  })

  it('has the same text for any order of keys and paths', () => {
    const reversed = reverseKeys(object) as object
    expect(JSON.stringify(projectObject(reversed, paths.toReversed()))).toBe(
      JSON.stringify(projectObject(object, paths)),
    )
  })

  it('includes a value and a path inside of it without changing the object', () => {
    const before = structuredClone(object)
    const both = projectObject(object, [path('status.exportRef'), path('status.exportRef.name')])
    expect(both).toMatchObject({ status: { exportRef: { name: 'x', namespace: 'n' } } })
    expect(object).toEqual(before)
  })

  it('is a projection of itself', () => {
    fc.assert(
      fc.property(fc.object(), (spec) => {
        const once = projectObject({ ...object, spec }, [...paths, path('spec')])
        expect(projectObject(once, [...paths, path('spec')])).toEqual(once)
      }),
    )
  })
})

describe('a value at a path', () => {
  it('is undefined where the object ends earlier, and ignores inherited properties', () => {
    expect(valueAt(object, path('status.phase'))).toBe('Init')
    expect(valueAt(object, path('status.phase.length'))).toBeUndefined()
    expect(valueAt(object, path('status.constructor'))).toBeUndefined()
    expect(valueAt(object, path('spec.deployItems.0'))).toBeUndefined()
  })

  it('is undefined unless it is a text, when a text is requested', () => {
    expect(textAt(object, path('status.jobID'))).toBe('j')
    expect(textAt(object, path('metadata.generation'))).toBeUndefined()
  })
})

describe('the content of hashed paths', () => {
  it('differs exactly when the content differs', () => {
    const content = (data: unknown, other: unknown) => hashedContent({ data, other }, [['data']])
    expect(content({ a: 1, b: 2 }, 1)).toBe(content({ b: 2, a: 1 }, 2))
    expect(content({ a: 1 }, 1)).not.toBe(content({ a: 2 }, 1))
    expect(content([1, 2], 1)).not.toBe(content([2, 1], 1))
  })

  it('differs if the same value is at another path', () => {
    const paths = [['a'], ['b']]
    expect(hashedContent({ a: 1 }, paths)).not.toBe(hashedContent({ b: 1 }, paths))
  })

  it('is undefined if the object has no value at the paths', () => {
    expect(hashedContent(object, [['data']])).toBeUndefined()
    expect(hashedContent(object, [])).toBeUndefined()
  })
})

describe('canonical JSON', () => {
  it('parses to the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })
})

function reverseKeys(value: unknown): unknown {
  if (Array.isArray(value) || typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, inner]) => [key, reverseKeys(inner)]),
  )
}
