import { describe, expect, it } from 'vitest'

import { onlyOwnerOf, isOnlyOwnedBy, isOwnedBy, ownerReference } from '../../../activities/kube/owners.ts'

const RACK = { apiVersion: 'example.com/v1', kind: 'Rack' }
const owner = { name: 'r', uid: 'uid-r', namespace: 'n' }
const child = (change: object = {}, namespace = 'n') => ({
  metadata: { name: 'c', namespace, ownerReferences: [{ ...ownerReference(RACK, owner), ...change }] },
})

describe('an object', () => {
  it('is owned by the owner of its controlling reference, also in another version of the kind', () => {
    expect(isOwnedBy(child(), RACK, owner)).toBe(true)
    expect(isOwnedBy(child({ apiVersion: 'example.com/v2' }), RACK, owner)).toBe(true)
  })

  it.each([
    ['another uid', child({ uid: 'uid-before' })],
    ['another kind', child({ kind: 'Shelf' })],
    ['a kind of another group', child({ apiVersion: 'example.org/v1' })],
    ['another name', child({ name: 's' })],
    ['another namespace', child({}, 'elsewhere')],
    ['a reference that does not control', child({ controller: false })],
    ['no reference', { metadata: { name: 'c', namespace: 'n' } }],
  ])('is not owned with %s', (_, object) => {
    expect(isOwnedBy(object, RACK, owner)).toBe(false)
  })

  it('may have a cluster-scoped owner, in any namespace', () => {
    expect(isOwnedBy(child({}, 'elsewhere'), RACK, { ...owner, namespace: '' })).toBe(true)
  })
})

// As the controllers of others make it with SetOwnerReference, which sets no `controller`.
describe('an object with one owner reference that is not controlling', () => {
  const left = (change: object = {}, namespace = 'n') => child({ controller: undefined, ...change }, namespace)

  it('belongs to that owner like a controlled object', () => {
    for (const object of [left(), left({ controller: false }), child()])
      expect(isOnlyOwnedBy(object, RACK, owner)).toBe(true)
    expect(onlyOwnerOf(left())).toMatchObject({ uid: 'uid-r' })
  })

  it.each([
    ['another uid', left({ uid: 'uid-before' })],
    ['another kind', left({ kind: 'Shelf' })],
    ['another name', left({ name: 's' })],
    ['another namespace', left({}, 'elsewhere')],
    ['no reference', { metadata: { name: 'c', namespace: 'n' } }],
  ])('is not held with %s', (_, object) => {
    expect(isOnlyOwnedBy(object, RACK, owner)).toBe(false)
  })

  it('belongs to no single owner when a second owner reference exists', () => {
    const references = [...left().metadata.ownerReferences, { ...ownerReference(RACK, owner), uid: 'uid-other' }]
    const object = { metadata: { ...left().metadata, ownerReferences: references } }
    expect(isOnlyOwnedBy(object, RACK, owner)).toBe(false)
    expect(onlyOwnerOf(object)).toBeUndefined()
  })
})
