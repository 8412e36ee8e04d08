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

describe('what a run sees of an object', () => {
  it('is all but what the server keeps for itself and the copy that kubectl leaves', () => {
    const object = { metadata, data: { key: 'value' } }
    expect(redactObject(object, { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' })).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace: 'n', uid: 'u', resourceVersion: '1', annotations: { mine: 'kept' } },
      data: { key: 'value' },
    })
  })

  it('has of a Secret the keys, and no value anywhere', () => {
    const secret = { metadata, type: 'Opaque', data: { password: 'canary' }, stringData: { more: 'canary' } }
    const seen = redactObject(secret, { apiVersion: 'v1', kind: 'Secret', plural: 'secrets' })
    expect(seen).toMatchObject({ type: 'Opaque', data: { password: '' } })
    expect(JSON.stringify(seen)).not.toContain('canary')
  })

  it('takes another kind that is called Secret as it is', () => {
    const resource = { apiVersion: 'example.com/v1', kind: 'Secret', plural: 'secrets' }
    expect(redactObject({ metadata, data: { key: 'value' } }, resource)).toMatchObject({ data: { key: 'value' } })
  })
})
