// An item whose spec.target is changed, on two clusters as small as it needs.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import {
  DeployError,
  type DeployStep,
  type ItemWork,
  takeStep,
} from '../../../../../activities/landscaper/deploy/run/deployer.ts'
import { deployer } from '../../../../../activities/landscaper/deploy/manifest/deployer.ts'
import { readManaged } from '../../../../../activities/landscaper/deploy/objects/managed-resources.ts'
import { createTargetCluster } from '../../../../../activities/landscaper/deploy/target/discovery.ts'
import type { TargetCluster } from '../../../../../activities/landscaper/deploy/target/target-cluster.ts'
import { createKubeClient } from '../../../../../activities/kube/client.ts'
import { TinyApi } from '../../../kube/tiny-api.ts'
import { config, configMap, deployItem } from '../manifest/manifests.ts'
import { data } from '../../tenant-data.ts'

const PATH = '/api/v1/namespaces/n/configmaps'

class Cluster {
  readonly api: TinyApi
  readonly target: TargetCluster

  private constructor(api: TinyApi) {
    this.api = api
    const resources = [{ name: 'configmaps', kind: 'ConfigMap', namespaced: true }]
    api.intercept = ({ path }) => (path === '/api/v1' ? { status: 200, body: { resources } } : undefined)
    this.target = this.opened()
  }

  static async start(): Promise<Cluster> {
    return new Cluster(await TinyApi.start())
  }

  /** By another Target, so another client. */
  opened(): TargetCluster {
    const kube = createKubeClient({ kubeconfig: this.api.kubeconfig })
    return createTargetCluster(kube, () => new Date(), 'Target "test"')
  }

  get names(): string[] {
    return [...this.api.objects.keys()].map((path) => path.replace(`${PATH}/`, '')).sort()
  }
}

let here: Cluster
let there: Cluster
let targets: Map<string, TargetCluster>
let status: { providerStatus?: DeployStep['providerStatus'] }
beforeEach(async () => {
  ;[here, there] = [await Cluster.start(), await Cluster.start()]
  targets = new Map([
    ['here', here.target],
    ['there', there.target],
    ['also-here', here.opened()],
  ])
  status = {}
})
afterEach(async () => {
  for (const { kube } of [here.target, there.target, ...targets.values()]) await kube.close()
  for (const { api } of [here, there]) await api.stop()
})

async function step(
  act: 'install' | 'check' | 'uninstall',
  targetName: string,
  names: readonly string[],
): Promise<DeployStep> {
  const manifests = names.map((name) => ({ manifest: configMap(name) }))
  const open = (name: string): TargetCluster => {
    const target = targets.get(name)
    if (target === undefined)
      throw new DeployError('OpenTarget', 'NoTargetFound', `target n/${name} is not there`, [
        'ERR_CONFIGURATION_PROBLEM',
      ])
    return target
  }
  const work: ItemWork = {
    item: deployItem(config({ manifests }), status, targetName),
    target: open(targetName),
    openTarget: (name) => Promise.resolve().then(() => open(name)),
    data,
    signal: new AbortController().signal,
  }
  const answer = await takeStep(deployer, act, work)
  if (answer.providerStatus !== undefined) status = { providerStatus: answer.providerStatus }
  return answer
}

const remembered = () => ({
  ...status.providerStatus,
  managedResources: readManaged(status.providerStatus).map(({ resource }) => resource.name),
})

describe('an item with another Target', () => {
  beforeEach(async () => {
    await step('install', 'here', ['a', 'b'])
    expect(here.names).toEqual(['a', 'b'])
    expect(remembered()).toMatchObject({ target: { name: 'here' }, managedResources: ['a', 'b'] })
  })

  it('is removed from the former Target, then applied to the new one', async () => {
    expect(await step('install', 'there', ['b', 'c'])).toMatchObject({ result: 'done' })
    expect([here.names, there.names]).toEqual([[], ['b', 'c']])
    expect(remembered()).toMatchObject({ target: { name: 'there' }, managedResources: ['b', 'c'] })
  })

  it('is not applied before its removal from the former Target has ended', async () => {
    const held = here.api.objects.get(`${PATH}/a`)
    here.api.put(`${PATH}/a`, {
      ...held,
      metadata: { ...held?.metadata, name: 'a', finalizers: ['test.example/hold'] },
    })
    const waitingFor = 'Target "here": ConfigMap "n/a" is being deleted and has the finalizer test.example/hold'
    expect(await step('install', 'there', ['b'])).toMatchObject({
      result: 'waiting',
      checkpoint: 'deployer: cleanup orphaned',
      waitingFor,
    })
    expect(there.names).toEqual([])
    expect(remembered()).toMatchObject({ target: { name: 'here' }, managedResources: ['a', 'b'] })
    here.api.objects.delete(`${PATH}/a`)
    expect(await step('check', 'there', ['b'])).toMatchObject({ result: 'done' })
    expect([here.names, there.names]).toEqual([[], ['b']])
  })

  it('is removed from the former Target if it is uninstalled before it has moved', async () => {
    expect(await step('uninstall', 'there', ['a', 'b'])).toEqual({ result: 'done' })
    expect(here.names).toEqual([])
  })

  it('keeps its objects if the other Target has the same server', async () => {
    here.api.requests.length = 0
    expect(await step('install', 'also-here', ['a', 'b'])).toMatchObject({ result: 'done' })
    expect(here.api.requests.filter((request) => !request.startsWith('GET'))).toEqual([])
    expect(remembered()).toMatchObject({ target: { name: 'also-here' }, managedResources: ['a', 'b'] })
  })

  it.each(['install', 'uninstall'] as const)(
    'fails while the former one is gone, and says the ways out: %s',
    async (act) => {
      targets.delete('here')
      const error = await step(act, 'there', ['a']).then(
        () => undefined,
        (caught: unknown) => caught as DeployError,
      )
      expect(error).toMatchObject({
        name: 'DeployError',
        reason: 'NoTargetFound',
        codes: ['ERR_CONFIGURATION_PROBLEM'],
      })
      expect(error?.message).toMatch(
        /^spec.target: .* previous Target "here": target n\/here is not there; repair that Target, or annotate .*delete-without-uninstall/,
      )
      expect([here.names, there.names]).toEqual([['a', 'b'], []])
    },
  )
})
