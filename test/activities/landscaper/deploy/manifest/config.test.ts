import { describe, expect, it } from 'vitest'

import { readManifestConfig } from '../../../../../activities/landscaper/deploy/manifest/config.ts'
import { DEFAULT_GROUPS } from '../../../../../activities/landscaper/deploy/objects/deletion-groups.ts'
import { DeployError } from '../../../../../activities/landscaper/deploy/run/deployer.ts'
import { config, configMap, deployItem, objectOf, V1 } from './manifests.ts'

const read = (spec: unknown) => readManifestConfig(deployItem(spec))
const entry = (manifest: unknown, fields = {}) => config({ manifests: [{ manifest, ...fields }] })

function problem(spec: unknown): DeployError {
  try {
    read(spec)
  } catch (error) {
    if (error instanceof DeployError) return error
    throw error
  }
  throw new Error('it was accepted')
}

describe('the configuration of a manifest item', () => {
  it('is read with its defaults', () => {
    const { apiVersion, updateStrategy, manifests, deletionGroups, deletionGroupsDuringUpdate, exports } = read(
      entry(configMap('a')),
    )
    expect({ apiVersion, updateStrategy, exports }).toEqual({
      apiVersion: 'manifest.deployer.landscaper.gardener.cloud/v1alpha2',
      updateStrategy: 'update',
      exports: [],
    })
    expect(deletionGroups).toEqual(DEFAULT_GROUPS)
    expect(deletionGroupsDuringUpdate).toEqual(DEFAULT_GROUPS)
    expect(manifests).toEqual([
      {
        policy: 'manage',
        object: configMap('a', undefined, { labels: {}, annotations: {} }),
        annotateBeforeCreate: {},
        annotateBeforeDelete: {},
        patchAfterDeployment: undefined,
        patchBeforeDelete: undefined,
        recreate: undefined,
      },
    ])
  })

  it('is read in the older version, whose manifests are plain objects', () => {
    const old = read(
      config({ updateStrategy: 'patch', manifests: [configMap('a')], continuousReconcile: { cron: 'x' } }, V1),
    )
    expect(old.updateStrategy).toBe('patch')
    expect(old.manifests.map(({ policy, object }) => [policy, object.metadata.name])).toEqual([['manage', 'a']])
    expect(problem(config({ updateStrategy: 'merge' }, V1)).message).toBe(
      'spec.config.updateStrategy: found another text; expected one of update, patch',
    )
  })

  it('may have no manifests, and nulls for no value', () => {
    expect(read(config({})).manifests).toEqual([])
    const nulls = { policy: null, annotateBeforeCreate: null, patchBeforeDelete: null }
    expect(
      read(config({ updateStrategy: null, manifests: [{ manifest: configMap('a'), ...nulls }] })).manifests,
    ).toHaveLength(1)
  })

  it('expands lists, also nested ones and those whose items have no kind', () => {
    const bare = { metadata: configMap('b').metadata, data: {} }
    const list = {
      apiVersion: 'v1',
      kind: 'List',
      items: [configMap('a'), { apiVersion: 'v1', kind: 'ConfigMapList', items: [bare, configMap('c')] }],
    }
    const { manifests } = read(entry(list, { policy: 'keep' }))
    expect(manifests.map(({ policy, object }) => [policy, object.kind, object.metadata.name])).toEqual([
      ['keep', 'ConfigMap', 'a'],
      ['keep', 'ConfigMap', 'b'],
      ['keep', 'ConfigMap', 'c'],
    ])
  })

  it('does not treat a kind as a list because of its name', () => {
    const allowList = { apiVersion: 'a.io/v1', kind: 'AllowList', metadata: { name: 'x' }, spec: { items: [] } }
    expect(read(entry(allowList)).manifests[0]?.object.kind).toBe('AllowList')
  })

  it('drops what only a server writes', () => {
    const given = { uid: 'u', resourceVersion: '7', creationTimestamp: null, managedFields: [], selfLink: 's' }
    const { metadata } = read(entry(configMap('a', {}, given))).manifests[0]?.object ?? {}
    expect(metadata).toEqual({ name: 'a', namespace: 'n', labels: {}, annotations: {} })
  })

  it('turns stringData into data, as servers do', () => {
    const secret = objectOf('v1', 'Secret', { data: { a: 'eA==' }, stringData: { b: 'y' } })
    const object = read(entry(secret)).manifests[0]?.object
    expect(object?.['data']).toEqual({ a: 'eA==', b: 'eQ==' })
    expect(object?.['stringData']).toBeUndefined()
  })

  const HEAD = 'manifest.deployer.landscaper.gardener.cloud'
  const EITHER = 'either predefinedResourceGroup or customResourceGroup'
  const groups = (...deletionGroups: object[]) => config({ deletionGroups })

  it.each([
    [undefined, ': found nothing', `a ProviderConfiguration of ${HEAD}/v1alpha2`],
    ['canary', ': found another text', `a ProviderConfiguration of ${HEAD}/v1alpha2`],
    [config({}, 'canary/v1'), '.apiVersion: found another text', `one of ${HEAD}/v1alpha1, ${HEAD}/v1alpha2`],
    [{ ...config({}), kind: 'canary' }, '.kind: found another text', 'ProviderConfiguration'],
    [
      config({ updateStrategy: 'canary' }),
      '.updateStrategy: found another text',
      'one of update, patch, merge, mergeOverwrite, replace',
    ],
    [config({ manifests: 'canary' }), '.manifests: found another text', 'a list'],
    [config({ manifests: ['canary'] }), '.manifests[0]: found another text', 'a map with a manifest'],
    [config({ manifests: [{}] }), '.manifests[0].manifest: found nothing', 'an object'],
    [
      config({ manifests: [{ manifest: configMap('a') }, { manifest: configMap('a', { canary: '2' }) }] }),
      '.manifests[1].manifest: found a second manifest of ConfigMap "n/a", which is also in spec.config.manifests[0].manifest',
      'one manifest per object',
    ],
    [groups({}), '.deletionGroups[0]: found neither predefinedResourceGroup nor customResourceGroup', EITHER],
    [groups({ ...ofType('empty'), customResourceGroup: {} }), '.deletionGroups[0]: found both', EITHER],
    [
      groups(ofType('canary')),
      '.deletionGroups[0].predefinedResourceGroup.type: found another text',
      'one of namespaced-resources, cluster-scoped-resources, crds, empty',
    ],
    [
      config({ deletionGroupsDuringUpdate: [{ customResourceGroup: { targetName: 't' } }] }),
      '.deletionGroupsDuringUpdate[0].customResourceGroup.targetName: found a value',
      'it only with deleteAllResources: true',
    ],
    [
      groups({ customResourceGroup: { resources: [{ apiVersion: '../v1', kind: 'a' }] } }),
      '.deletionGroups[0].customResourceGroup.resources[0].apiVersion: found another text',
      '<group>/<version> or v1',
    ],
    [
      config({ readinessChecks: { disableDefault: 'canary' } }),
      '.readinessChecks.disableDefault: found another text',
      'true or false',
    ],
  ])('%# %j is refused with field, found and expected, without the value', expectRefused)

  it.each([
    [{ policy: 'canary' }, 'policy: found another text', 'one of manage, fallback, keep, ignore, immutable'],
    [{ annotateBeforeCreate: { canary: 1 } }, 'annotateBeforeCreate["canary"]: found a number', 'a text'],
    [{ patchAfterDeployment: ['canary'] }, 'patchAfterDeployment: found a list', 'a map'],
  ])('%# with the option %j is refused without the value', (options, found, expected) => {
    expectRefused(entry(configMap('a'), options), `.manifests[0].${found}`, expected)
  })

  it.each([
    [
      configMap('', {}, { generateName: 'canary-' }),
      'metadata.generateName: found a value',
      'spec.config.manifests[0].manifest.metadata.name, because Pawl finds the object by its name',
    ],
    [configMap(''), 'metadata.name: found an empty text', 'a text'],
    [configMap('..'), 'metadata.name: found another text', 'the name of an object'],
    [configMap('a/../canary'), 'metadata.name: found another text', 'the name of an object'],
    [
      configMap('a', {}, { namespace: '../canary' }),
      'metadata.namespace: found another text',
      'the name of a namespace',
    ],
    [configMap('a', {}, { labels: { app: 7 } }), 'metadata.labels["app"]: found a number', 'a text'],
    [{ ...configMap('a'), apiVersion: '../../api/v1' }, 'apiVersion: found another text', '<group>/<version> or v1'],
    [{ ...configMap('a'), kind: undefined }, 'kind: found nothing', 'a text'],
    [{ ...configMap('a'), metadata: undefined }, 'metadata: found nothing', 'a map with a name'],
    [{ apiVersion: 'v1', kind: 'List', items: [configMap('a'), 7] }, 'items[1]: found a number', 'an object'],
  ])('%# with the manifest %j is refused without the value', (manifest, found, expected) => {
    expectRefused(entry(manifest), `.manifests[0].manifest.${found}`, expected)
  })

  function ofType(type: string): object {
    return { predefinedResourceGroup: { type } }
  }

  function expectRefused(spec: unknown, found: string, expected: string): void {
    const { message, codes, isFinal } = problem(spec)
    expect(message).toBe(`spec.config${found}; expected ${expected}`)
    expect(codes).toEqual(['ERR_CONFIGURATION_PROBLEM'])
    expect(isFinal).toBe(true)
  }

  it('is rejected with a suggestion when a field is misspelt', () => {
    const { message } = problem(config({ manifests: undefined, manifest: ['canary'] }))
    expect(message).toBe('spec.config.manifest: unknown field; did you mean "manifests"?')
  })

  it('is rejected with all mistakes in one error, up to a limit', () => {
    const two = problem(config({ updateStrategy: 'canary', manifests: [{ manifest: 7, policy: 'canary' }] })).message
    expect(two.split(' | ')).toHaveLength(3)
    const many = problem(config({ manifests: Array.from({ length: 50 }, () => 'canary') })).message
    expect(many.split(' | ')).toHaveLength(21)
    expect(many).toMatch(/and 30 more$/)
    expect(two + many).not.toContain('canary')
  })

  it('with two equal manifests of an object has one', () => {
    expect(
      read(config({ manifests: [{ manifest: configMap('a') }, { manifest: configMap('a') }] })).manifests,
    ).toHaveLength(1)
  })

  it('keeps a key that would poison prototypes where it is', () => {
    const poisoned = JSON.parse(
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"__proto__":"x"}}}',
    ) as unknown
    const labels = read(entry(poisoned)).manifests[0]?.object.metadata.labels
    expect(Object.keys(labels ?? {})).toEqual(['__proto__'])
    expect(({} as { x?: unknown }).x).toBeUndefined()
  })
})
