import { describe, expect, it } from 'vitest'
import { isChildOf, ownerOfKind, ownerReferenceOf, projectObject } from '../../../../workflows/kit/index.ts'

const RACK = { group: 'example.com', kind: 'Rack' }
const owner = { ...RACK, uid: 'uid-r', namespace: 'n', name: 'r' }
const REFERENCE = { apiVersion: 'example.com/v1', kind: 'Rack', name: 'r', uid: 'uid-r', controller: true }
const child = (change: object = {}, namespace = 'n') => ({
  metadata: {
    name: 'c',
    ...(namespace !== '' && { namespace }),
    ownerReferences: [{ ...REFERENCE, ...change }],
  },
})

describe('the child of an owner', () => {
  it('has a controlling reference to it and is in the same namespace; the version of the kind does not matter', () => {
    expect(isChildOf(child(), owner)).toBe(true)
    expect(isChildOf(child({ apiVersion: 'example.com/v2' }), owner)).toBe(true)
  })

  it('is recognized by its projection too', () => {
    for (const object of [child(), child({}, 'elsewhere'), child({ controller: false })])
      expect(isChildOf(projectObject(object, []), owner)).toBe(isChildOf(object, owner))
  })

  it.each([
    ['another namespace', child({}, 'elsewhere')],
    ['no namespace', child({}, '')],
    ['another uid', child({ uid: 'uid-before' })],
    ['another name', child({ name: 's' })],
    ['another kind', child({ kind: 'Shelf' })],
    ['a kind of another group', child({ apiVersion: 'example.org/v1' })],
    ['a kind of the core', child({ apiVersion: 'v1' })],
    ['a reference that does not control', child({ controller: false })],
    ['no reference', { metadata: { name: 'c', namespace: 'n' } }],
  ])('is never an object with %s, even if all other fields match', (_, object) => {
    expect(isChildOf(object, owner)).toBe(false)
  })

  it('has one owner only: a second reference without `controller` has no effect', () => {
    const other = { ...REFERENCE, uid: 'uid-other', name: 'other' }
    const object = { metadata: { namespace: 'n', ownerReferences: [{ ...REFERENCE, controller: false }, other] } }
    expect(isChildOf(object, owner)).toBe(false)
    expect(ownerReferenceOf(object)).toEqual(other)
  })

  it('can be in any namespace when the owner is cluster-scoped', () => {
    expect(isChildOf(child({}, 'elsewhere'), { ...owner, namespace: '' })).toBe(true)
  })
})

describe('the owner of a kind', () => {
  it('is the controlling one, compared by group and name, in any version', () => {
    expect(ownerOfKind(child({ apiVersion: 'example.com/v2' }), RACK)).toMatchObject({ uid: 'uid-r' })
    for (const other of [child({ apiVersion: 'other.com/v1' }), child({ controller: false }), {}])
      expect(ownerOfKind(other, RACK)).toBeUndefined()
  })
})
