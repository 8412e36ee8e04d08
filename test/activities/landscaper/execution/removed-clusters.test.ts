// Tests the annotation with the name of a deploy item's cluster, and the release of items whose cluster was removed.
// Two small API servers represent the engine's cluster and a Gardener; the journal stores nothing.
// Source: spec/landscaper.md 1.13, 2.8.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Deps } from '../../../../activities/deps.ts'
import { createKubeClient, type KubeClient, type KubeObject } from '../../../../activities/kube/client.ts'
import { ObjectCache } from '../../../../activities/kube/object-cache.ts'
import { storedAs } from '../../../../activities/kube/object-views.ts'
import type { LandscaperDeps } from '../../../../activities/landscaper/deps.ts'
import { deployItemView } from '../../../../activities/landscaper/deploy-item-view.ts'
import { createTargetAccess } from '../../../../activities/landscaper/deploy/target/open-target.ts'
import { newDeployItem, readClusters, shootAt } from '../../../../activities/landscaper/execution/items.ts'
import { removedClusterActivities } from '../../../../activities/landscaper/execution/removed-clusters.ts'
import { FINALIZER } from '../../../../workflows/landscaper/contract.ts'
import { deployItemKind } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { executionKind } from '../../../../workflows/landscaper/execution/kind.ts'
import { refusal, type Request, TinyApi } from '../../kube/tiny-api.ts'
import { landscaperDeps } from '../landscaper-deps.ts'
import { dataOf } from '../tenant-data.ts'

let own: TinyApi
let garden: TinyApi
let kube: KubeClient
let deps: LandscaperDeps

const NAMESPACE = '/apis/landscaper.gardener.cloud/v1alpha1/namespaces/n'
const ITEMS = `${NAMESPACE}/deployitems`
const SYNCS = `${NAMESPACE}/targetsyncs`
const TARGETS = `${NAMESPACE}/targets`
const SECRETS = '/api/v1/namespaces/n/secrets'
const SHOOTS = '/apis/core.gardener.cloud/v1beta1/namespaces/garden-x/shoots'
const CLUSTER_NAME = 'landscaper.gardener.cloud/clustername'
const TOKEN = 'canary-token'
const inBase64 = (text: string) => Buffer.from(text).toString('base64')

beforeEach(async () => {
  ;[own, garden] = await Promise.all([TinyApi.start(), TinyApi.start()])
  kube = createKubeClient({ kubeconfig: own.kubeconfig })
  const now = () => new Date('2030-01-01T00:00:00Z')
  const journal = { begin: () => Promise.resolve('begun'), finish: () => undefined, flush: () => Promise.resolve() }
  const log = { warn: () => undefined }
  const base = { cluster: 'local', kube, journal, log, objects: new ObjectCache(), now, subjectKinds: {} }
  const targets = createTargetAccess({ kube, data: dataOf, now, allow: ['127.0.0.1'] })
  deps = landscaperDeps(base as unknown as Deps, { targets })
  const kubeconfig = garden.kubeconfig.replace('"user":{}', `"user":{"token":"${TOKEN}"}`)
  put(own, `${SECRETS}/access`, { data: { kubeconfig: inBase64(kubeconfig) } })
  put(own, `${SYNCS}/sync`, { spec: { sourceNamespace: 'garden-x', secretRef: { name: 'access' } } })
})
afterEach(async () => {
  await Promise.all([deps.landscaper.targets.close(), kube.close()])
  await Promise.all([own.stop(), garden.stop()])
})

function put(api: TinyApi, path: string, object: object, metadata: object = {}): KubeObject {
  const [name = '', , namespace = ''] = path.split('/').reverse()
  return api.put(path, { metadata: { name, namespace, uid: `uid-${name}`, ...metadata }, ...object })
}

const CONFIG = { apiVersion: 'example.com/v1', kind: 'Any' }
const SKIPS = { onDelete: { skipUninstallIfClusterRemoved: true } }

/** Stores a DeployItem that is being deleted. @returns it as in the input of the activity. */
function item(name: string, shoot: string, target = `${shoot}.kubeconfig`) {
  const spec = { type: 'example.com/any', target: { name: target }, ...SKIPS }
  const metadata = {
    annotations: { [CLUSTER_NAME]: shoot },
    finalizers: [FINALIZER],
    deletionTimestamp: '2030-01-01T00:00:00Z',
  }
  const { cluster, ...view } = deployItemView(
    storedAs(deployItemKind, put(own, `${ITEMS}/${name}`, { spec }, metadata)),
    {},
  )
  if (cluster === undefined) throw new Error('says no cluster')
  return { ...view, cluster }
}

const subject = { kind: 'Execution', group: executionKind.group, uid: 'uid-exec', namespace: 'n', name: 'exec' }
const by = { workflowID: 'execution/n/exec/uid-exec/job', runID: 'run', pass: 1 }

async function release(...items: readonly ReturnType<typeof item>[]) {
  const activities = removedClusterActivities(deps)
  return await activities.releaseItemsOfRemovedClusters({ by, subject, jobID: 'job', items })
}
const isLeft = (name: string) => own.objects.get(`${ITEMS}/${name}`)?.metadata.finalizers?.includes(FINALIZER) === true
const told = () =>
  [...own.objects].flatMap(([path, one]) =>
    path.includes('/events/') ? [one as unknown as Record<string, unknown>] : [],
  )

describe('an item whose Shoot', () => {
  it('does not exist is released, and an Event has the reason', async () => {
    put(garden, `${SHOOTS}/cherry`, {})
    const result = await release(item('a', 'berry'), item('b', 'cherry'), item('c', 'berry'))
    expect(result).toMatchObject({ there: ['b'], failures: [], left: [] })
    expect(['a', 'b', 'c'].map(isLeft)).toEqual([false, true, false])
    expect(garden.requests.toSorted()).toEqual(['GET shoots/berry', 'GET shoots/cherry'])
    const because = 'Shoot "garden-x/berry" does not exist, according to TargetSync "n/sync"'
    expect(told()).toHaveLength(2)
    expect(told()[0]).toMatchObject({
      type: 'Normal',
      reason: 'UninstallSkipped',
      message: `not uninstalled, because its cluster was removed: ${because}`,
      involvedObject: { kind: 'DeployItem', name: 'a' },
    })
  })

  it('does not exist is released once: an attempt after a crash finds it released, or releases it', async () => {
    const items = [item('a', 'berry'), item('b', 'berry')]
    own.intercept = ({ method, path }: Request) =>
      method === 'PATCH' && path === `${ITEMS}/b` ? refusal(503, 'ServiceUnavailable') : undefined
    expect(await release(...items)).toMatchObject({ gone: ['a'], failures: [{ object: 'b', retryable: true }] })
    own.intercept = () => undefined
    expect(await release(...items)).toMatchObject({ gone: ['a', 'b'], failures: [] })
    expect(told().map(({ involvedObject }) => (involvedObject as { name: string }).name)).toEqual(['a', 'b'])
  })

  it('exists under the name of its Target is not released', async () => {
    put(garden, `${SHOOTS}/plum`, {})
    expect(await release(item('a', 'shop', 'plum.kubeconfig'), item('b', 'shop', 'plum'))).toMatchObject({
      there: ['a', 'b'],
    })
    expect(['a', 'b'].map(isLeft)).toEqual([true, true])
  })

  it('belongs to the Target of the source is not released', async () => {
    const spec = { sourceNamespace: 'garden-x', secretRef: { name: 'access' }, createTargetToSource: true }
    put(own, `${SYNCS}/sync`, { spec })
    expect(await release(item('a', 'live', 'garden-x'))).toMatchObject({ there: ['a'] })
    expect(isLeft('a')).toBe(true)
  })

  it('is checked by the annotation at the time of the release', async () => {
    const asked = item('a', 'berry')
    put(own, `${ITEMS}/a`, { spec: { type: 'example.com/any', target: { name: 'x' } } }, { finalizers: [FINALIZER] })
    await release(asked)
    expect(isLeft('a')).toBe(true)
  })
})

describe('a cluster whose state is unknown', () => {
  const answers = (intercept: TinyApi['intercept']) => () => void (garden.intercept = intercept)
  const putSync = (name: string, sourceNamespace: string) =>
    void put(own, `${SYNCS}/${name}`, { spec: { sourceNamespace, secretRef: { name: 'access' } } })

  it.each<[because: string, change: () => void, message: string]>([
    ['its project refuses', answers(() => refusal(403, 'Forbidden')), '403 Forbidden'],
    ['its project fails', answers(() => refusal(503, 'ServiceUnavailable')), '503 ServiceUnavailable'],
    ['the credentials are refused', answers(() => refusal(401, 'Unauthorized')), 'rejects the credentials'],
    [
      'the API does not exist',
      answers(() => ({ status: 404, body: { message: 'page not found' } })),
      'answers 404 to /apis',
    ],
    ['the resource does not exist', answers(() => refusal(404, 'NotFound')), 'answers 404 to /apis'],
    [
      'another object is missing',
      answers(() => ({ status: 404, body: { reason: 'NotFound', details: { kind: 'namespaces', name: 'berry' } } })),
      '404 NotFound',
    ],
    ['the answer is no Shoot', answers(() => ({ status: 200, body: { hello: 'world' } })), 'no answer'],
  ])('is not taken for removed, because %s', async (_, change, message) => {
    change()
    const { failures, there } = await release(item('a', 'berry'), item('b', 'berry'))
    expect(there).toEqual([])
    expect(failures).toEqual([expect.objectContaining({ object: 'a, b', code: 'ClusterUnknown', retryable: true })])
    expect(failures[0]?.message).toContain(message)
    expect(JSON.stringify(failures)).not.toContain(TOKEN)
    expect(['a', 'b'].map(isLeft)).toEqual([true, true])
  })

  it('is waited for with a time limit', async () => {
    garden.intercept = () => 'silence'
    const activities = removedClusterActivities(deps, 100)
    const input = { by, subject, jobID: 'job', items: [item('a', 'berry')] }
    const { failures } = await activities.releaseItemsOfRemovedClusters(input)
    expect(failures[0]?.message).toContain('no answer in time')
    expect(isLeft('a')).toBe(true)
  })

  it.each<[what: string, change: () => void, told: string]>([
    ['no TargetSync', () => own.objects.delete(`${SYNCS}/sync`), 'namespace n: found no TargetSync; expected one'],
    ['several', () => putSync('other', 'x'), 'namespace n: found more than one TargetSync; expected one'],
    ['no Secret', () => own.objects.delete(`${SECRETS}/access`), 'Secret "n/access" does not exist'],
    [
      'a way out of the project',
      () => putSync('sync', '../x'),
      'TargetSync "n/sync": spec.sourceNamespace: not a valid namespace name',
    ],
    [
      'the refusal of its own server',
      () => {
        own.intercept = ({ path }: Request) => (path === SYNCS ? refusal(403, 'Forbidden') : undefined)
      },
      'targetsyncs: 403 Forbidden',
    ],
  ])('is not taken for removed, because of %s', async (_, change, message) => {
    const asked = item('a', 'berry')
    change()
    const { failures } = await release(asked)
    expect(failures[0]?.message).toContain(message)
    expect([isLeft('a'), garden.requests]).toEqual([true, []])
  })
})

describe('the annotation with the name of a cluster', () => {
  const execution = storedAs(executionKind, { metadata: { name: 'exec', namespace: 'n', uid: 'uid-exec' }, spec: {} })
  const nameOn = async (target: string | undefined, onDelete: object = SKIPS.onDelete) => {
    const place = target === undefined ? {} : { target: { name: target } }
    const template = { name: 'a', type: 't', config: CONFIG, ...place, onDelete }
    const clusterOf = await readClusters(deps, subject, [template])
    const { metadata } = newDeployItem(execution, template, { jobID: 'job', now: new Date(0), clusterOf })
    return metadata.annotations?.[CLUSTER_NAME]
  }
  const target = (server: string, labels: object = { 'landscaper.gardener.cloud/targetsync': 'ok' }) => {
    const kubeconfig = garden.kubeconfig.replace(/"server":"[^"]*"/, `"server":"${server}"`)
    put(own, `${SECRETS}/synced`, { data: { kubeconfig: inBase64(kubeconfig) } })
    const spec = {
      type: 'landscaper.gardener.cloud/kubernetes-cluster',
      secretRef: { name: 'synced', key: 'kubeconfig' },
    }
    put(own, `${TARGETS}/synced`, { spec }, { labels })
  }

  it('comes from the server of a Target that a TargetSync created', async () => {
    target('https://api.berry.project.example.org')
    expect(await nameOn('synced')).toBe('berry')
    expect(await nameOn('synced', { skipUninstallIfClusterRemoved: false })).toBeUndefined()
    expect(garden.requests).toEqual([])
  })

  it('is missing for other Targets and for servers that are no Shoots', async () => {
    target('https://api.berry.project.example.org', {})
    expect(await nameOn('synced')).toBeUndefined()
    target('https://127.0.0.1:6443')
    expect(await nameOn('synced')).toBeUndefined()
    expect(await nameOn(undefined)).toBeUndefined()
  })

  it('is unchanged if the Target cannot be read, and is removed if the item no longer requests it', async () => {
    const items = [
      { name: 'a', type: 't', config: CONFIG, target: { name: 'gone' }, ...SKIPS },
      { name: 'b', type: 't', config: CONFIG, target: { name: 'gone' } },
    ]
    const clusterOf = await readClusters(deps, subject, items)
    expect(items.map(clusterOf)).toEqual([{}, { [CLUSTER_NAME]: undefined }])
    target('no URL')
    const [other] = items.map((one) => ({ ...one, target: { name: 'synced' } }))
    if (other === undefined) throw new Error('no item')
    expect((await readClusters(deps, subject, [other]))(other)).toEqual({})
  })

  it('is requested again if the server does not answer', async () => {
    own.intercept = ({ path }) => (path.startsWith(TARGETS) ? refusal(503, 'ServiceUnavailable') : undefined)
    await expect(nameOn('synced')).rejects.toMatchObject({ type: 'ServiceUnavailable', nonRetryable: false })
  })

  it.each([
    ['https://api.berry.project.example.org', 'berry'],
    ['https://api.berry.project.example.org:443/x', 'berry'],
    ['https://api.berry', undefined],
    ['http://api.berry.example.org', undefined],
    ['https://apis.berry.example.org', undefined],
    ['https://api.-.example.org', undefined],
    ['', undefined],
  ])('of %j is %s', (server, name) => {
    expect(shootAt(server)).toBe(name)
  })
})
