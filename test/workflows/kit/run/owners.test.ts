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
  it('is known by the reference that controls it, from the same namespace, in any version of the kind', () => {
    expect(isChildOf(child(), owner)).toBe(true)
    expect(isChildOf(child({ apiVersion: 'example.com/v2' }), owner)).toBe(true)
  })

  it('is known by its projection as by itself', () => {
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
  ])('is no object with %s, though all else is right', (_, object) => {
    expect(isChildOf(object, owner)).toBe(false)
  })

  it('is the child of one owner alone: of a second reference that is right, but does not control, nothing follows', () => {
    const other = { ...REFERENCE, uid: 'uid-other', name: 'other' }
    const object = { metadata: { namespace: 'n', ownerReferences: [{ ...REFERENCE, controller: false }, other] } }
    expect(isChildOf(object, owner)).toBe(false)
    expect(ownerReferenceOf(object)).toEqual(other)
  })

  it('may be anywhere when the owner is in no namespace', () => {
    expect(isChildOf(child({}, 'elsewhere'), { ...owner, namespace: '' })).toBe(true)
  })
})

describe('the owner of a kind', () => {
  it('is the controlling one, known by group and name, in any version', () => {
    expect(ownerOfKind(child({ apiVersion: 'example.com/v2' }), RACK)).toMatchObject({ uid: 'uid-r' })
    for (const other of [child({ apiVersion: 'other.com/v1' }), child({ controller: false }), {}])
      expect(ownerOfKind(other, RACK)).toBeUndefined()
  })
})
