import { describe, expect, it } from 'vitest'

import { redactObject } from '../../../../activities/run/level/redact-object.ts'

const metadata = {
  name: 'a',
  namespace: 'n',
  uid: 'u',
  resourceVersion: '1',
  annotations: { mine: 'kept', 'kubectl.kubernetes.io/last-applied-configuration': '{"data":{"password":"canary"}}' },
  managedFields: [{ manager: 'kubectl' }],
}

describe('the view of an object in a run', () => {
  it('contains all fields but managedFields and the copy of kubectl apply', () => {
    const object = { metadata, data: { key: 'value' } }
    expect(redactObject(object, { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' })).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace: 'n', uid: 'u', resourceVersion: '1', annotations: { mine: 'kept' } },
      data: { key: 'value' },
    })
  })

  it('contains the keys of a Secret, but no value', () => {
    const secret = { metadata, type: 'Opaque', data: { password: 'canary' }, stringData: { more: 'canary' } }
    const seen = redactObject(secret, { apiVersion: 'v1', kind: 'Secret', plural: 'secrets' })
    expect(seen).toMatchObject({ type: 'Opaque', data: { password: '' } })
    expect(JSON.stringify(seen)).not.toContain('canary')
  })

  it('contains the values of a custom kind with the name Secret', () => {
    const resource = { apiVersion: 'example.com/v1', kind: 'Secret', plural: 'secrets' }
    expect(redactObject({ metadata, data: { key: 'value' } }, resource)).toMatchObject({ data: { key: 'value' } })
  })
})
