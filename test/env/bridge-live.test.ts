// Reflectors and journal on a real API server.

import { readFileSync } from 'node:fs'
import { pino } from 'pino'
import { parse } from 'yaml'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { createKubeClient, type KubeClient, type KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { replaceSubscriptions } from '../../activities/journal/write/subscriptions.ts'
import type { JournalDeps } from '../../activities/journal/write/events.ts'
import { createReflector } from '../../worker/bridge/reflector.ts'
import { DEFAULT_REFLECTOR_SETTINGS } from '../../worker/bridge/settings.ts'
import { directLookups, resolveWake } from '../../worker/reconciler/resolve-wake.ts'
import { createRegistry } from '../../worker/server/registry.ts'
import { annotation, defineLevel, groupKindOf, nop, path, type WatchedKind } from '../../workflows/kit/index.ts'
import { deps } from '../activities/journal/build-events.ts'
import { useJournal } from '../activities/journal/use-journal.ts'
import { TcpProxy } from '../support/faults/tcp-proxy.ts'

const configMaps: WatchedKind = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  projection: [annotation('stage')],
  hashed: [path('data')],
}
const NAMESPACE = 'bridge-live'

const test = useJournal(inject('servers').databaseUrl)
let kube: KubeClient
beforeAll(async () => {
  kube = createKubeClient({ kubeconfigPath: inject('servers').kubeconfigPath })
  await kube.request('POST', '/api/v1/namespaces', { body: { metadata: { name: NAMESPACE } } })
  await kube.request('POST', DEFINITIONS, { body: definition })
})
afterAll(async () => {
  await kube.request('DELETE', `/api/v1/namespaces/${NAMESPACE}`)
  await kube.request('DELETE', `${DEFINITIONS}/${definition.metadata.name}`)
  await kube.close()
})

interface Watching extends Pick<JournalDeps, 'route' | 'subjectKinds' | 'modes'> {
  readonly watchedKinds: readonly WatchedKind[]
}
const onlyWatching: Watching = { ...deps, route: () => ({ ignored: 'only watching' }), watchedKinds: [configMaps] }

/** Runs a reflector of each kind while the test acts. */
async function reflect(owner: string, watching: Watching, act: () => Promise<void>, client = kube): Promise<void> {
  const stopping = new AbortController()
  const journal = { ...watching, contentKey: Buffer.alloc(32, 3), now: () => new Date() }
  const shared = { cluster: 'c', namespace: NAMESPACE, kube: client, db: test.db, journal, owner, random: Math.random }
  const rest = { log: pino({ level: 'silent' }), settings: DEFAULT_REFLECTOR_SETTINGS }
  const runs = watching.watchedKinds.map((kind) => createReflector(kind, { ...shared, ...rest }).run(stopping.signal))
  await act()
  stopping.abort()
  await Promise.all(runs)
}
const eventually = async <T>(read: () => Promise<T>, expected: unknown): Promise<void> => {
  await expect.poll(read, { timeout: 30_000, interval: 20 }).toEqual(expected)
}

describe('a reflector on a real API server', () => {
  const collection = resourcePath(configMaps, NAMESPACE)
  const create = async (name: string) =>
    await kube.request<KubeObject>('POST', collection, { body: { metadata: { name }, data: { key: 'canary-value' } } })
  const patch = async (name: string, body: object) =>
    await kube.request<KubeObject>('PATCH', `${collection}/${name}`, {
      body,
      contentType: 'application/merge-patch+json',
    })
  const journaled = (named: string) => async () => {
    const rows = await test.db.selectFrom('watch_event').selectAll().where('name', '=', named).orderBy('seq').execute()
    return rows.map(({ type, source, reason }) => `${source} ${type}: ${reason ?? ''}`)
  }
  const seen = (type: string, source = 'watch') => `${source} ${type}: only watching`

  it('journals creation, changes of declared fields, and deletion, across a restart', async () => {
    await create('first')
    const changed = [
      seen('ADDED', 'relist'),
      seen('MODIFIED'),
      'watch MODIFIED: nothing declared changed',
      seen('MODIFIED'),
    ]
    await reflect('one', onlyWatching, async () => {
      await eventually(journaled('first'), changed.slice(0, 1))
      await patch('first', { metadata: { annotations: { stage: 'a' } } })
      await patch('first', { metadata: { annotations: { unrelated: 'x' } } })
      await patch('first', { data: { key: 'canary-other' } })
      await eventually(journaled('first'), changed)
    })
    await create('second')
    for (const name of ['second', 'first']) await kube.request('DELETE', `${collection}/${name}`)
    await reflect('two', onlyWatching, async () => {
      await eventually(journaled('second'), [seen('ADDED'), seen('DELETED')])
      await eventually(journaled('first'), [...changed, seen('DELETED')])
    })
    const tables = [test.db.selectFrom('object'), test.db.selectFrom('watch_event')] as const
    for (const table of tables) expect(JSON.stringify(await table.selectAll().execute())).not.toContain('canary')
    expect(await test.rows('watch_checkpoint', 'epoch', 'lease_owner')).toEqual([{ epoch: 1, lease_owner: null }])
  })

  it('continues on another connection before the next bookmark is due when the API server becomes silent', async () => {
    let real = 0
    kubeconfigAt((port) => (real = port))
    const proxy = await TcpProxy.to(real)
    const kubeconfig = kubeconfigAt(() => proxy.port)
    const client = createKubeClient({ kubeconfig, silence: { pingMs: 100, silentMs: 2000 } })
    const act = async () => {
      await create('heard')
      await eventually(async () => (await journaled('heard')()).length, 1)
      expect(proxy.fallSilent()).toBeGreaterThan(0)
      await create('unheard')
      await eventually(journaled('unheard'), [seen('ADDED')])
    }
    try {
      await reflect('silent', onlyWatching, act, client)
    } finally {
      await client.close()
      await proxy.stop()
    }
  })
})

/** The administrator's kubeconfig with another port. */
function kubeconfigAt(change: (port: number) => number): string {
  const config = parse(readFileSync(inject('servers').kubeconfigPath, 'utf8')) as {
    readonly clusters: readonly { readonly cluster: { server: string } }[]
  }
  for (const { cluster } of config.clusters) {
    const url = new URL(cluster.server)
    url.port = String(change(Number(url.port)))
    cluster.server = url.origin
  }
  return JSON.stringify(config)
}

const GROUP = 'two.test.pawl.dev'
const core = { apiVersion: 'v1', kind: 'Service', plural: 'services' }
const other = { apiVersion: `${GROUP}/v1`, kind: 'Service', plural: 'services' }
const registry = createRegistry([
  defineLevel({ name: 'core', target: core, queries: {}, plan: nop }),
  defineLevel({ name: 'other', target: other, queries: {}, plan: nop }),
])
const services: Watching = {
  ...registry,
  watchedKinds: registry.watchedKinds.filter(({ kind }) => kind === 'Service'),
}

describe('two kinds called Service, in the core group and in another group', () => {
  const create = async (kind: typeof core) => {
    const spec = kind === core ? { ports: [{ port: 80 }] } : {}
    const body = { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name: 'front' }, spec }
    return (await kube.request<KubeObject>('POST', resourcePath(kind, NAMESPACE), { body })).metadata.uid
  }
  const remove = async (kind: typeof core) => {
    await kube.request('DELETE', resourcePath(kind, NAMESPACE, 'front'))
  }
  /** The group of each Service in the journal, and whether it is deleted. */
  const states = async () => {
    const rows = test.db.selectFrom('object').select(['api_group', 'deleted']).where('kind', '=', 'Service')
    return (await rows.orderBy('api_group').execute()).map(({ api_group, deleted }) => [api_group, deleted])
  }
  const living = async () => (await states()).flatMap(([group, deleted]) => (deleted === true ? [] : group))
  const checkpoints = async () =>
    (await test.rows('watch_checkpoint', 'api_group', 'epoch')).map(({ api_group, epoch }) => [api_group, epoch])
  const both = async (act: () => Promise<void>) => {
    await vi.waitFor(async () => await kube.request('GET', resourcePath(other, NAMESPACE)), { timeout: 30_000 })
    await reflect('one', services, act)
  }
  const subscribe = async (controller: string, kind: typeof core) => {
    const subject = { controller, cluster: 'c', uid: controller, namespace: NAMESPACE, name: controller }
    const front = { ...groupKindOf(kind), namespace: NAMESPACE, name: 'front', traits: [] }
    await replaceSubscriptions(test.db, subject, [front], new Date())
  }

  it('are both watched, with separate states, checkpoints and controllers', async () => {
    await both(async () => {
      const uids = { core: await create(core), other: await create(other) }
      await eventually(living, ['', GROUP])
      const wakes = await test.wakes()
      expect(Object.fromEntries(wakes.map(({ controller, uid }) => [controller, uid]))).toEqual(uids)
      for (const wake of wakes) {
        const subject = { group: wake.controller === 'core' ? '' : GROUP, kind: 'Service' }
        const workflowID = `${wake.controller}/${NAMESPACE}/front/${wake.uid}`
        const resolution = await resolveWake(wake, directLookups(test.db, registry))
        expect(resolution).toMatchObject({ to: 'start', run: { workflowID, input: { subject } } })
      }
      // The objects of a list are journaled first, the checkpoint moves last.
      await eventually(checkpoints, [
        ['', 1],
        [GROUP, 1],
      ])

      // Two objects have the same name and namespace. Deleting one of them does not wake subscribers of the other.
      await test.db.deleteFrom('wake').execute()
      await subscribe('waits-for-core', core)
      await subscribe('waits-for-other', other)
      await remove(other)
      await eventually(states, [
        ['', false],
        [GROUP, true],
      ])
      expect((await test.wakes()).map(({ controller, cause }) => [controller, cause]).toSorted()).toEqual([
        ['other', 'deleted'],
        ['waits-for-other', 'Service front changed'],
      ])
    })
    await remove(core)
  })

  it('are relisted independently: a list deletes only objects of the listed kind', async () => {
    await create(core)
    await create(other)
    await both(async () => {
      await eventually(living, ['', GROUP])
      await eventually(checkpoints, [
        ['', 1],
        [GROUP, 1],
      ])
    })
    await remove(core)
    await remove(other)
    await create(other)
    // The checkpoint of the core Service is lost, the other one is not.
    await test.db.updateTable('watch_checkpoint').set({ resource_version: null }).where('api_group', '=', '').execute()
    await reflect('two', services, async () => await eventually(living, [GROUP]))
    const presumed = test.db.selectFrom('object').select('api_group').where('presumed_deleted', '=', true)
    expect(await presumed.execute()).toEqual([{ api_group: '' }])
  })
})

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `services.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: { kind: 'Service', plural: 'services', singular: 'service', listKind: 'ServiceList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}
