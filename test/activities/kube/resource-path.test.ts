import { describe, expect, it } from 'vitest'
import { resourcePath } from '../../../activities/kube/resource-path.ts'

const secrets = { apiVersion: 'v1', plural: 'secrets' }

describe('the path of an object', () => {
  it('is correct with and without a namespace, and escapes special characters of the name', () => {
    expect(resourcePath(secrets, 'ns', 'a:b c', 'status')).toBe('/api/v1/namespaces/ns/secrets/a%3Ab%20c/status')
    expect(resourcePath({ apiVersion: 'apps/v1', plural: 'things' }, '', 'one')).toBe('/apis/apps/v1/things/one')
    expect(resourcePath(secrets, 'ns')).toBe('/api/v1/namespaces/ns/secrets')
  })

  it.each(['', '.', '..', 'a/b', '../../kube-system/secrets/token', 'a%2Fb'])(
    'is refused as not found when the name is %j',
    (name) => {
      const missing = expect.objectContaining({ status: 404, missing: { kind: 'secrets', name } }) as Error
      expect(() => resourcePath(secrets, 'ns', name)).toThrow(missing)
      expect(() => resourcePath(secrets, 'ns', name)).toThrow(JSON.stringify(name))
    },
  )

  it.each(['..', 'a/b'])('is refused when the namespace is %j', (namespace) => {
    expect(() => resourcePath(secrets, namespace, 'one')).toThrow(`namespaces: found name "${namespace}"`)
  })
})
