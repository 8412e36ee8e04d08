// The manifest deployer with broken or malicious API servers, and with malicious configurations.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type DeployStep, type ItemWork, takeStep } from '../../../../../activities/landscaper/deploy/run/deployer.ts'
import { toDeployError } from '../../../../../activities/landscaper/deploy/run/deploy-errors.ts'
import { applyManifests } from '../../../../../activities/landscaper/deploy/objects/apply.ts'
import { OWNERSHIP_LABELS } from '../../../../../activities/landscaper/deploy/manifest/ownership-labels.ts'
import { deployer } from '../../../../../activities/landscaper/deploy/manifest/deployer.ts'
import { readManifestConfig } from '../../../../../activities/landscaper/deploy/manifest/config.ts'
import { HostileServer } from '../target/hostile-server.ts'
import { config, configMap, deployItem, manifest } from './manifests.ts'
import { data } from '../../tenant-data.ts'

let server: HostileServer
beforeEach(async () => {
  server = new HostileServer()
  await server.start()
})
afterEach(() => server.stop())

const signal = new AbortController().signal
const remembered = (name: string) => ({
  policy: 'manage',
  resource: { apiVersion: 'v1', kind: 'ConfigMap', name, namespace: 'n', uid: 'u' },
})

async function work(fields: object, managedResources: readonly object[] = []): Promise<ItemWork> {
  const target = await server.open()
  const status = { providerStatus: { managedResources } }
  return { item: deployItem(config({ ...fields }), status), target, openTarget: () => server.open(), data, signal }
}

/** What an item shows of a step, thrown or not. */
async function outcome(step: Promise<DeployStep>) {
  const { result, ...rest } = await step.catch((error: unknown) => ({
    result: 'failed' as const,
    error: toDeployError('Test', error),
  }))
  return {
    result,
    ...('error' in rest && { reason: rest.error.reason, codes: rest.error.codes, message: rest.error.message }),
  }
}

const BROKEN = { result: 'failed', reason: 'Unreachable', codes: [] }
const good = {
  metadata: { name: 'a', namespace: 'n', uid: 'u', resourceVersion: '1' },
  kind: 'ConfigMap',
  apiVersion: 'v1',
}

describe('an answer that is not an object', () => {
  const bad = [{}, { metadata: null }, { metadata: { name: 'a', finalizers: 7 } }, null, []]

  it.each(bad)('to a write is a retryable failure: %j', async (body) => {
    server.serve((request) => (request.startsWith('GET') ? { status: 404, body: { reason: 'NotFound' } } : { body }))
    expect(
      await outcome(takeStep(deployer, 'install', await work({ manifests: [{ manifest: configMap('a') }] }))),
    ).toMatchObject(BROKEN)
    server.serve((request) => ({ body: request.startsWith('GET') ? good : body }))
    expect(
      await outcome(takeStep(deployer, 'install', await work({ manifests: [{ manifest: configMap('a') }] }))),
    ).toMatchObject(BROKEN)
  })
})

describe('a deletion group that deletes all objects of a kind', () => {
  const group = { resources: [{ apiVersion: 'v1', kind: 'ConfigMap' }], deleteAllResources: true }
  const uninstall = async () => {
    const fields = { deletionGroups: [{ customResourceGroup: group }] }
    return await outcome(takeStep(deployer, 'uninstall', await work(fields, [remembered('a')])))
  }

  it('fails on an endless list', async () => {
    server.serve(() => ({ body: { items: [], metadata: { continue: 'more' } } }))
    expect(await uninstall()).toMatchObject({
      result: 'failed',
      codes: ['ERR_CONFIGURATION_PROBLEM'],
      message: expect.stringContaining('more than 100000') as string,
    })
  })
})

describe('an invalid discovery answer', () => {
  it('does not make existing objects count as deleted', async () => {
    server.answer = () => ({ body: {} })
    expect(await outcome(takeStep(deployer, 'uninstall', await work({}, [remembered('a')])))).toMatchObject(BROKEN)
    const custom = { policy: 'manage', resource: { apiVersion: 'g.example/v1', kind: 'Thing', name: 'x', uid: 'u' } }
    server.answer = (request) => {
      if (request === 'GET /apis') return { body: { kind: 'APIGroupList', groups: [] } }
      return request === 'GET /apis/g.example' ? { body: { versions: 'x' } } : { status: 404, body: {} }
    }
    expect(await outcome(takeStep(deployer, 'uninstall', await work({}, [custom])))).toMatchObject(BROKEN)
  })
})

describe('a server that answers 404 to every path', () => {
  const NOT_FOUND = '<html>404 page not found</html>'
  const problem = (path: string) => ({
    result: 'failed',
    reason: 'NotAnAPIServer',
    codes: [],
    message: `Target "n/hostile": the server answers 404 to ${path}; check that its URL is the URL of a Kubernetes API server`,
  })
  const widget = { apiVersion: 'g.example/v1', kind: 'Widget', metadata: { name: 'x', namespace: 'n' } }
  const steps = [
    ['install', 'v1', [configMap('a'), configMap('b')], '/api/v1'],
    ['install', 'of a group', [widget], '/apis'],
    ['uninstall', 'v1', [configMap('a')], '/api/v1'],
    ['uninstall', 'of a group', [widget], '/apis'],
  ] as const

  it.each(steps)('fails an item once, retryably: %s of a kind %s', async (act, _, objects, path) => {
    server.answer = () => ({ status: 404, body: NOT_FOUND })
    const manifests = objects.map((object) => ({ manifest: object }))
    expect(await outcome(takeStep(deployer, act, await work({ manifests })))).toEqual(problem(path))
    const managed = objects.map(({ apiVersion, kind, metadata }) => ({
      policy: 'manage',
      resource: { apiVersion, kind, ...metadata, uid: 'u' },
    }))
    expect(await outcome(takeStep(deployer, act, await work({ manifests }, managed)))).toEqual(problem(path))
  })

  it('does not prove that objects of a cached kind are gone', async () => {
    server.serve(() => ({ body: good }))
    await (await server.open()).servedKind('v1', 'ConfigMap')
    server.answer = () => ({ status: 404, body: NOT_FOUND })
    expect(await outcome(takeStep(deployer, 'uninstall', await work({}, [remembered('a')])))).toEqual({
      ...problem('/api/v1'),
      message: `ConfigMap "n/a": ${problem('/api/v1').message}`,
    })
  })
})

describe('failures of many objects', () => {
  it('are reported in the order of the configuration, even when the server answers in another order', async () => {
    let asked = 0
    server.serve(() => ({ status: asked++ % 2 === 0 ? 403 : 500, body: { reason: 'R', message: 'no' } }))
    const manifests = Array.from({ length: 9 }, (_, index) => manifest(configMap(`m${index}`)))
    const target = await server.open()
    const slow = { ...target, kube: { ...target.kube, request: lateFor('m0', target.kube) } }
    const applied = await applyManifests({
      target: slow,
      manifests,
      marks: { ownership: OWNERSHIP_LABELS, item: 'item', strategy: 'update' },
      remembered: [],
      jobID: undefined,
      signal,
    })
    const names = manifests.map(({ object }) => object.metadata.name)
    expect(applied.managed.map(({ resource }) => resource.name)).toEqual(names)
    expect(applied.problems.map(({ object }) => object)).toEqual(names.map((name) => `ConfigMap "n/${name}"`))
  })

  it('are reported briefly when an object with many finalizers is not deleted yet', async () => {
    const finalizers = Array.from({ length: 10_000 }, (_, index) => `example.org/finalizer-${index}`)
    const held = { ...good, metadata: { ...good.metadata, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers } }
    server.serve(() => ({ body: held }))
    const step = await takeStep(deployer, 'uninstall', await work({}, [remembered('a')]))
    expect(step).toMatchObject({ result: 'waiting' })
    expect(JSON.stringify(step).length).toBeLessThan(600)
  })
})

describe('a configuration that is nested thousands of levels deep', () => {
  const deep = JSON.parse(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`) as object

  it('is rejected at any place, and the message names the place', () => {
    const entries = [
      { manifest: configMap('a') },
      { manifest: { ...configMap('b'), spec: deep } },
      { manifest: configMap('c'), patchBeforeDelete: deep },
    ]
    expect(() => readManifestConfig(deployItem(config({ manifests: entries, readinessChecks: deep })))).toThrow(
      'spec.config.manifests[1]: found more levels; expected at most 100 levels | spec.config.manifests[2]: found more levels; expected at most 100 levels | spec.config.readinessChecks: found more',
    )
    expect(() => readManifestConfig(deployItem(config({ manifests: [{ manifest: configMap('a') }] })))).not.toThrow()
  })
})

function lateFor(name: string, kube: ItemWork['target']['kube']): ItemWork['target']['kube']['request'] {
  return async (method, path, options) => {
    if (path.endsWith(name)) await new Promise((resolve) => setTimeout(resolve, 100))
    return await kube.request(method, path, options)
  }
}
