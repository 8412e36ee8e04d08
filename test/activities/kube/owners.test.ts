import { describe, expect, it } from 'vitest'

import { isOwnedBy, ownerReference } from '../../../activities/kube/owners.ts'

const RACK = { apiVersion: 'example.com/v1', kind: 'Rack' }
const owner = { name: 'r', uid: 'uid-r', namespace: 'n' }
const child = (change: object = {}, namespace = 'n') => ({
  metadata: { name: 'c', namespace, ownerReferences: [{ ...ownerReference(RACK, owner), ...change }] },
})

describe('an object', () => {
  it('is owned by whom its controlling reference names, also in another version of the kind', () => {
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

  it('may be owned from no namespace, and then be anywhere', () => {
    expect(isOwnedBy(child({}, 'elsewhere'), RACK, { ...owner, namespace: '' })).toBe(true)
  })
})
