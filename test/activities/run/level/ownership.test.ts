import { describe, expect, it } from 'vitest'

import type { KubeObject } from '../../../../activities/kube/client.ts'
import { obstacleOf, ownedMetadata } from '../../../../activities/run/level/ownership.ts'
import { OWNER_ANNOTATION, type Ownership, OWNER_UID_LABEL } from '../../../../workflows/kit/index.ts'

const subject = { kind: 'Shop', uid: 'uid-shop', namespace: 'n', name: 'shop' }
const target = { apiVersion: 'example.com/v1', kind: 'Shop', plural: 'shops' }
const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }
const base = { subject, target, object }
const reference = { apiVersion: 'example.com/v1', kind: 'Shop', name: 'shop', uid: 'uid-shop', controller: true }
const marked = {
  labels: { [OWNER_UID_LABEL]: 'uid-shop' },
  annotations: { [OWNER_ANNOTATION]: 'Shop.example.com/n/shop' },
}
const found = (metadata: object = {}): KubeObject => ({ metadata: { name: 'a', namespace: 'n', ...metadata } })
const codeOf = (metadata: object, change: object = {}) => obstacleOf({ ...base, ...change }, found(metadata))?.code

describe('an existing object', () => {
  it('belongs to the target by owner reference, by label and annotation, or by annotation alone', () => {
    expect(codeOf({ ownerReferences: [reference] })).toBeUndefined()
    expect(codeOf(marked)).toBeUndefined()
    expect(codeOf({ annotations: marked.annotations })).toBeUndefined()
  })

  it('belongs to another target when a reference, label or annotation says so, even with adopt', () => {
    const adopt = { adopt: true }
    expect(codeOf({ ownerReferences: [{ ...reference, uid: 'x' }] }, adopt)).toBe('OwnedByAnother')
    expect(codeOf({ ...marked, labels: { [OWNER_UID_LABEL]: 'x' } }, adopt)).toBe('OwnedByAnother')
    // A label alone proves nothing.
    expect(codeOf({ labels: marked.labels }, adopt)).toBe('OwnedByAnother')
    expect(codeOf({ labels: marked.labels, annotations: { [OWNER_ANNOTATION]: 'Shop.example.com/n/other' } })).toBe(
      'OwnedByAnother',
    )
  })

  it('belongs to another target when it names the target from another namespace, as another kind or by another name', () => {
    for (const change of [
      { namespace: 'shared', ownerReferences: [reference] },
      { ownerReferences: [{ ...reference, kind: 'Kiosk' }] },
      { ownerReferences: [{ ...reference, name: 'other' }] },
    ])
      expect(codeOf(change, { adopt: true })).toBe('OwnedByAnother')
  })

  it('has no owner otherwise, and is taken only with adopt', () => {
    expect(obstacleOf(base, found())).toEqual({
      code: 'NotOwned',
      message:
        'ConfigMap n/a: the object exists and Shop n/shop does not own it; delete it, or write it with `adopt: true`',
    })
    expect(codeOf({}, { adopt: true })).toBeUndefined()
  })
})

describe('the owner metadata of an object', () => {
  const owned = (owner: Ownership | undefined, metadata: object = {}, change: object = {}) =>
    ownedMetadata({ ...base, ...(owner && { owner }), ...change }, found(metadata).metadata)

  it('is an owner reference, added to the references of other owners', () => {
    const other = { ...reference, uid: 'x', controller: false }
    expect(owned(undefined, { ownerReferences: [other] })).toEqual({ ownerReferences: [other, reference] })
    expect(owned(undefined, { ownerReferences: [reference] })).toEqual({})
  })

  it('is a label and an annotation in another namespace, and only the annotation for an object that stays after the target', () => {
    expect(owned(undefined, {}, { elsewhere: true })).toEqual(marked)
    expect(owned('label')).toEqual(marked)
    expect(owned('none', {}, { elsewhere: true })).toEqual({ annotations: marked.annotations })
  })

  it('replaces all previous owner metadata of the target', () => {
    expect(owned('none', { ...marked, ownerReferences: [reference] })).toEqual({
      ownerReferences: [],
      labels: { [OWNER_UID_LABEL]: null },
      annotations: marked.annotations,
    })
    expect(owned('target', marked)).toEqual({ ownerReferences: [reference], labels: { [OWNER_UID_LABEL]: null } })
  })
})
