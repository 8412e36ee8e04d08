// Namespaces, kinds and whole collections that are deleted with everything in them: the chaos wing, a user's controller whose deletion creates an object,
// and the CustomResourceDefinitions of both. Source: docs/guides/jobs.md "Ways of deleting",
// docs/reference/level-mode.md "Deleting the namespace".

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from 'yaml'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'

import type { KubeObject, ObjectList } from '../../activities/kube/client.ts'
import { isNotFound } from '../../activities/kube/errors.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { crdDocument } from '../../worker/gen/crd.ts'
import { API, CHAIN, installation } from '../support/cluster/cluster.ts'
import { configMap, createTarget, manifestItem, TARGET_TYPE } from '../support/landscaper/manifests.ts'
import { configFile } from '../support/chaos/config-file.ts'
import { ChaosKubelet } from '../support/chaos/kubelet.ts'
import { CHAOS, ChaosCluster } from '../support/chaos/tenants.ts'
import { diceOf } from '../support/matrix/dice.ts'
import { keeperKind } from '../support/level/keeper.ts'
import { byForm, SEED } from '../support/matrix/form.ts'
import { deploying, sub } from '../support/landscaper/sub-installations.ts'
import { useTenants } from '../support/tenants/tenants.ts'

const [CRDS, SOON] = ['/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { timeout: 30_000, interval: 100 }]

const folder = mkdtempSync(join(tmpdir(), 'pawl-deleted-namespaces-'))
const ofBoth = ['--wings', 'landscaper,chaos']
const config = configFile(folder, { controller: { finalizerDeletionDelay: '0s' } })
const tenants = useTenants(
  'deleted-namespaces',
  ['shop', 'wanted', 'needed', 'kinds', 'all'],
  async ({ kube }) => {
    await kube.request('POST', CRDS, { body: parse(crdDocument(keeperKind)) as object })
  },
  {
    wings: ['landscaper', 'chaos'],
    controllers: new URL('../support/level/keeper.ts', import.meta.url).pathname,
    bridgeFlags: ofBoth,
    workerFlags: [...ofBoth, '--target-allow', '127.0.0.1', '--chaos-config', config],
  },
)
const beats = new Set<NodeJS.Timeout>()
afterAll(() => {
  for (const beat of beats) clearInterval(beat)
  rmSync(folder, { recursive: true, force: true })
})

type Namespace = Parameters<typeof tenants.of>[0]

async function found(path: string): Promise<KubeObject | undefined> {
  try {
    return await tenants.of('shop').kube.request<KubeObject>('GET', path)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

const pathOf = (namespace: Namespace) => `/api/v1/namespaces/${namespace}`

async function remove(path: string): Promise<void> {
  await tenants.of('shop').kube.request('DELETE', path)
}

async function gone(path: string): Promise<void> {
  await vi.waitFor(async () => expect((await found(path))?.['status']).toBeUndefined(), SOON)
}

/** No run, open row or wake is left of a namespace. */
async function quiet(namespace: Namespace): Promise<void> {
  const { db } = tenants.pawl
  await vi.waitFor(async () => {
    const wakes = await db
      .selectFrom('wake')
      .select(['controller', 'name'])
      .where('namespace', '=', namespace)
      .execute()
    const jobs = await db
      .selectFrom('job')
      .select(['controller', 'name', 'last_error'])
      .where('namespace', '=', namespace)
      .where('outcome', 'is', null)
      .execute()
    expect({ wakes, jobs }).toEqual({ wakes: [], jobs: [] })
  }, SOON)
}

async function makeKeeper(namespace: Namespace, name: string, copy: 'wanted' | 'needed'): Promise<KubeObject> {
  const { apiVersion, kind, plural } = keeperKind
  const made = await tenants.of(namespace).create({ apiVersion, kind, metadata: { name }, spec: { copy } }, plural)
  await vi.waitFor(async () => expect(await found(`${pathOf(namespace)}/configmaps/${name}`)).toBeDefined(), SOON)
  return made
}

const keeperPath = (namespace: Namespace, name?: string) => resourcePath(keeperKind, namespace, name)

describe.concurrent(
  'a namespace that is deleted with Disruptions, crons and rollouts in it, while worker and bridge are killed',
  () => {
    it('is gone when the chaos pods have ended, and leaves no run and no wake', async () => {
      const { pawl } = tenants
      const shop = new ChaosCluster(tenants.of('shop'), beats)
      const kubelet = new ChaosKubelet(shop.cluster.kube)
      await shop.makeNode('node')
      await shop.runPod('web', { labels: { app: 'web' }, node: 'node' })
      const spec = { selector: { app: 'web' }, count: 1, duration: '1h', network: { drop: 30 } }
      const disruption = await shop.disrupt('slow', spec)
      await shop.disrupt('starting', { ...spec, onInit: true, selector: { app: 'later' } })
      const targetResource = { kind: 'deployment', name: 'web' }
      const template = { selector: { tier: 'none' }, count: 1, duration: '10m', network: { drop: 30 } }
      for (const [kind, plural, own] of [
        ['DisruptionCron', 'disruptioncrons', { schedule: '0 0 1 1 *' }],
        ['DisruptionRollout', 'disruptionrollouts', {}],
      ] as const) {
        const given = { ...own, targetResource, disruptionTemplate: template }
        await shop.cluster.create({ apiVersion: CHAOS, kind, metadata: { name: 'web' }, spec: given }, plural)
      }
      const pods = await kubelet.untilPods(disruption, 1)
      for (const pod of pods) await kubelet.ready(pod)
      await shop.until('slow', { injectionStatus: 'Injected' })
      const finalizers = async () =>
        (await shop.cluster.get('disruptioncrons', 'web', CHAOS))?.metadata.finalizers ?? []
      await vi.waitFor(async () => expect(await finalizers()).toHaveLength(1), SOON)

      await pawl.kill('worker')
      await remove(pathOf('shop'))
      await pawl.kill('bridge')
      await pawl.startBridge()
      await pawl.startWorker()
      // Kubernetes deletes all pods of the namespace before anything else. Their node has no kubelet that would end them.
      const pod = `${pathOf('shop')}/pods/web`
      await shop.cluster.kube.request('DELETE', pod, { body: { gracePeriodSeconds: 0 } })
      for (const pod of pods) await kubelet.end(pod)
      await gone(pathOf('shop'))
      await quiet('shop')
      expect(await kubelet.pods()).toEqual([])
    })
  },
)

describe.concurrent('a namespace that is deleted with objects of a controller whose onDelete creates an object', () => {
  it('is gone when the plan can do without the object', async () => {
    await makeKeeper('wanted', 'one', 'wanted')
    await remove(pathOf('wanted'))
    await gone(pathOf('wanted'))
    await quiet('wanted')
  })

  it('stays when the plan needs the object, which one fault reports; it is gone when the user removes the finalizer', async () => {
    const { db } = tenants.pawl
    const { metadata } = await makeKeeper('needed', 'one', 'needed')
    await remove(pathOf('needed'))
    const row = async () =>
      await db
        .selectFrom('job')
        .selectAll()
        .where('uid', '=', metadata.uid ?? '')
        .where('outcome', 'is', null)
        .executeTakeFirst()
    await vi.waitFor(
      async () => expect((await row())?.last_error).toMatchObject({ reason: 'NamespaceTerminating' }),
      SOON,
    )
    // Tries with back-off would be ten by then; the objects that the namespace loses wake a few passes.
    await sleep(4000)
    expect((await row())?.passes).toBeLessThan(8)
    await tenants.of('needed').kube.request('PATCH', keeperPath('needed', 'one'), {
      body: { metadata: { finalizers: null } },
      contentType: 'application/merge-patch+json',
    })
    await gone(pathOf('needed'))
    await quiet('needed')
  })
})

describe('a CustomResourceDefinition that is deleted with its objects', () => {
  beforeAll(async () => {
    await makeKeeper('kinds', 'one', 'needed')
    await makeKeeper('kinds', 'two', 'wanted')
  })

  it('of a user is gone after the onDelete of each object, and its objects work again when it is installed again', async () => {
    const path = `${CRDS}/${keeperKind.plural}.${keeperKind.group}`
    await remove(path)
    await gone(path)
    await quiet('kinds')
    const { items } = await tenants.of('kinds').kube.request<ObjectList>('GET', `${pathOf('kinds')}/configmaps`)
    expect(items.map(({ metadata }) => metadata.name).filter((name) => /^(?:one|two)/.test(name))).toEqual([
      ...['one-copy', 'two-copy'],
    ])
    await tenants.of('kinds').kube.request('POST', CRDS, { body: parse(crdDocument(keeperKind)) as object })
    // The API server accepts the names before it serves the objects.
    await vi.waitFor(async () => expect(await found(keeperPath('kinds'))).toBeDefined(), SOON)
    await makeKeeper('kinds', 'three', 'wanted')
    await remove(keeperPath('kinds', 'three'))
    await gone(keeperPath('kinds', 'three'))
  })
})

const chance = diceOf(SEED)
const shuffled = (all: readonly string[]) =>
  all
    .map((one) => ({ one, at: chance() }))
    .sort((left, right) => left.at - right.at)
    .map(({ one }) => one)

const LANDSCAPER = ['installations', 'executions', 'deployitems', 'targets', 'dataobjects', 'contexts']

/** An installation with one below it: mock items that use an imported value, and a manifest item that deploys the ConfigMap NAME-map by an imported Target. */
async function deploy(namespace: Namespace, name: string): Promise<void> {
  const cluster = tenants.of(namespace)
  const data = { apiVersion: API, kind: 'DataObject', metadata: { name: 'word' }, data: 'hello' }
  await cluster.create(data, 'dataobjects')
  await cluster.create({ apiVersion: API, kind: 'Context', metadata: { name: 'own' } }, 'contexts')
  await cluster.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'other' } }, 'secrets')
  await createTarget(cluster, name)
  const imports = {
    imports: [
      { name: 'word', type: 'data', schema: { type: 'string' } },
      { name: 'cluster', type: 'target', targetType: TARGET_TYPE },
    ],
  }
  const manifest = manifestItem({ name: 'map', manifests: [configMap(`${name}-map`, namespace)] })
  const template = JSON.stringify({ deployItems: [{ ...manifest, target: { import: 'cluster' } }] })
  const manifests = [{ name: 'manifests', type: 'GoTemplate', template }]
  const { deployExecutions } = deploying({ name: 'low' })
  const below = sub('below', {
    blueprint: { ...imports, deployExecutions: [...deployExecutions, ...manifests] },
    imports: { data: [{ name: 'word', dataRef: 'word' }], targets: [{ name: 'cluster', target: 'cluster' }] },
  })
  const targets = [{ name: 'cluster', target: name }]
  const spec = { context: 'own', imports: { data: [{ name: 'word', dataRef: 'word' }], targets } }
  const blueprint = { ...imports, subinstallations: [below] }
  await cluster.create(installation(name, CHAIN, { spec, blueprint }), 'installations')
  expect((await cluster.waitUntilFinished(name)).status).toMatchObject({ phase: 'Succeeded' })
  expect(await found(mapPath(namespace, name))).toBeDefined()
}

const mapPath = (namespace: Namespace, name: string) => `${pathOf(namespace)}/configmaps/${name}-map`

describe(`kubectl delete --all of every kind, in an order drawn with PAWL_SEED=${SEED}`, () => {
  it.each(byForm([1], [1, 2, 3]))('leaves nothing, no run and no wake: round %i', async (round) => {
    const all = tenants.of('all')
    await deploy('all', `round-${round}`)
    const order = shuffled([...LANDSCAPER, 'secrets'])
    for (const plural of order)
      await remove(resourcePath({ apiVersion: plural === 'secrets' ? 'v1' : API, plural }, 'all'))
    const left = async () => (await Promise.all(LANDSCAPER.map((plural) => all.list(plural)))).flat()
    const names = async () =>
      (await left())
        .filter(({ metadata }) => metadata.name !== 'default')
        .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    await vi.waitFor(async () => expect(await names(), order.join(', ')).toEqual([]), SOON)
    await quiet('all')
    expect(await found(mapPath('all', `round-${round}`)), order.join(', ')).toBeUndefined()
  })
})

describe(`the CustomResourceDefinitions of a wing that are deleted with their objects, in an order drawn with PAWL_SEED=${SEED}`, () => {
  it('are gone when everything is uninstalled, and leave no run and no wake', async () => {
    await deploy('kinds', 'last')
    const order = shuffled(LANDSCAPER)
    const paths = order.map((plural) => `${CRDS}/${plural}.landscaper.gardener.cloud`)
    for (const path of paths) await remove(path)
    for (const path of paths) await gone(path)
    await quiet('kinds')
    expect(await found(mapPath('kinds', 'last')), order.join(', ')).toBeUndefined()
  })

  it('are gone when the chaos pods have ended, and leave no run and no wake', async () => {
    const kinds = new ChaosCluster(tenants.of('kinds'), beats)
    const kubelet = new ChaosKubelet(kinds.cluster.kube)
    await kinds.makeNode('kinds')
    await kinds.runPod('web', { labels: { app: 'kinds' }, node: 'kinds' })
    const spec = { selector: { app: 'kinds' }, count: 1, duration: '1h', network: { drop: 30 } }
    const pods = await kubelet.untilPods(await kinds.disrupt('slow', spec), 1)
    for (const pod of pods) await kubelet.ready(pod)
    await kinds.until('slow', { injectionStatus: 'Injected' })
    const order = shuffled(['disruptions', 'disruptioncrons', 'disruptionrollouts'])
    const paths = order.map((plural) => `${CRDS}/${plural}.chaos.datadoghq.com`)
    for (const path of paths) await remove(path)
    for (const pod of pods) await kubelet.end(pod)
    for (const path of paths) await gone(path)
    await quiet('kinds')
    expect(await kubelet.pods()).toEqual([])
  })
})
