import { describe, expect, it } from 'vitest'
import { readManifestConfig } from '../../../../../activities/landscaper/deploy/manifest/config.ts'
import { deployer } from '../../../../../activities/landscaper/deploy/manifest/deployer.ts'
import { intendedStatus } from '../../../../../activities/landscaper/deploy/manifest/provider-status.ts'
import { type ItemWork, takeStep } from '../../../../../activities/landscaper/deploy/run/deployer.ts'
import { readManaged } from '../../../../../activities/landscaper/deploy/objects/managed-resources.ts'
import type { ServedKind } from '../../../../../activities/landscaper/deploy/target/target-cluster.ts'
import { config, configMap, deployItem, V2 } from './manifests.ts'
import { data } from '../../tenant-data.ts'

const ROLE = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'r', namespace: 'n' },
  rules: [],
}

const intend = (manifests: readonly object[], status: object = {}, target = 't') => {
  const entries = manifests.map((one) => ('manifest' in one ? one : { manifest: one }))
  const item = deployItem(config({ manifests: entries }), status, target)
  return intendedStatus(item, readManifestConfig(item))
}
const namesOf = (status: unknown) =>
  readManaged(status).map(({ resource: { namespace, name, uid } }) => [namespace ?? '', name, uid ?? ''].join('/'))
const status = (managedResources: readonly object[], target = 't') => ({
  providerStatus: { apiVersion: V2, kind: 'ProviderStatus', target: { name: target }, managedResources },
})
const remembered = (name: string, more: object = {}) => ({
  policy: 'manage',
  resource: { apiVersion: 'v1', kind: 'ConfigMap', name, namespace: 'n', uid: `uid-${name}`, ...more },
})

describe('the provider status that an item writes before it applies objects', () => {
  it('lists the objects of the configuration, also those in lists, with their removal options and the Target, except objects with the policy ignore', () => {
    const list = { apiVersion: 'v1', kind: 'List', items: [configMap('b'), configMap('c')] }
    const patchBeforeDelete = { data: { x: 'y' } }
    const intended = intend([
      { manifest: configMap('a'), policy: 'keep', patchBeforeDelete },
      list,
      { manifest: configMap('d'), policy: 'ignore' },
    ])
    expect(intended).toMatchObject({ apiVersion: V2, kind: 'ProviderStatus', target: { name: 't' } })
    expect(namesOf(intended)).toEqual(['n/a/', 'n/b/', 'n/c/'])
    expect(readManaged(intended)[0]).toMatchObject({ policy: 'keep', patchBeforeDelete })
  })

  it('keeps the objects of the previous status, and is not written when it lists all objects already', () => {
    const old = status([remembered('old'), remembered('a')])
    expect(namesOf(intend([configMap('a'), configMap('new')], old))).toEqual(['n/old/uid-old', 'n/a/uid-a', 'n/new/'])
    expect(intend([configMap('a')], old)).toBeUndefined()
    expect(intend([])).toBeUndefined()
  })

  it('is written once, even when an object with a namespace is cluster-scoped', () => {
    const first = intend([ROLE])
    expect(namesOf(first)).toEqual(['n/r/'])
    expect(intend([ROLE], { providerStatus: first })).toBeUndefined()
    const { apiVersion, kind } = ROLE
    expect(
      intend([ROLE], status([{ policy: 'manage', resource: { apiVersion, kind, name: 'r', uid: '1' } }])),
    ).toBeUndefined()
  })

  it('is not written while the previous status lists objects on another Target', () => {
    expect(intend([configMap('b')], status([remembered('a')], 'former'))).toBeUndefined()
    expect(intend([configMap('b')], status([], 'former'))).toMatchObject({ target: { name: 't' } })
  })
})

describe('an attempt after a crash between the provider status and the first request', () => {
  it('sends the listed objects', async () => {
    const requests: string[] = []
    const served: ServedKind = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true }
    const request = <T>(method: string, path: string, options?: { body?: unknown }): Promise<T> => {
      requests.push(`${method} ${path}`)
      const { metadata } = (options?.body ?? {}) as { metadata?: object }
      return Promise.resolve({
        ...(options?.body ?? {}),
        metadata: { name: 'a', uid: 'u', resourceVersion: '1', ...metadata },
      } as T)
    }
    const target = { kube: { request }, servedKind: () => Promise.resolve(served) } as unknown as ItemWork['target']
    const manifests = [{ manifest: configMap('a') }]
    const item = deployItem(config({ manifests }), { providerStatus: intend([configMap('a')]) })
    const work = { item, target, openTarget: () => Promise.resolve(target), data, signal: new AbortController().signal }
    const step = await takeStep(deployer, 'check', work)
    expect(requests[0]).toBe('GET /api/v1/namespaces/n/configmaps/a')
    expect(requests[1]).toBe('PUT /api/v1/namespaces/n/configmaps/a')
    expect(namesOf(step.providerStatus)).toEqual(['n/a/u'])
  })
})
