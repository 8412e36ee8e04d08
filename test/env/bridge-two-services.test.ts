// Two kinds called Service, in the core group and in another group, watched for controllers in level mode: a real API server and a real PostgreSQL.

import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest'

import { createKubeClient, type KubeClient, type KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { replaceSubscriptions } from '../../activities/journal/write/subscriptions.ts'
import { createReflector } from '../../worker/bridge/reflector.ts'
import { DEFAULT_REFLECTOR_SETTINGS } from '../../worker/bridge/settings.ts'
import { directLookups, resolveWake } from '../../worker/reconciler/resolve-wake.ts'
import { createRegistry } from '../../worker/server/registry.ts'
import { defineLevel, groupKindOf, nop } from '../../workflows/kit/index.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const NAMESPACE = 'two-services'
const GROUP = 'two.test.pawl.dev'
const core = { apiVersion: 'v1', kind: 'Service', plural: 'services' }
const other = { apiVersion: `${GROUP}/v1`, kind: 'Service', plural: 'services' }
const registry = createRegistry([
  defineLevel({ name: 'core', target: core, queries: {}, plan: nop }),
  defineLevel({ name: 'other', target: other, queries: {}, plan: nop }),
])
const followed = registry.watchedKinds.filter(({ kind }) => kind === 'Service')

const test = useJournal(inject('servers').databaseUrl)
let kube: KubeClient
beforeAll(async () => {
  kube = createKubeClient({ kubeconfigPath: inject('servers').kubeconfigPath })
  await kube.request('POST', '/api/v1/namespaces', { body: { metadata: { name: NAMESPACE } } })
  await kube.request('POST', DEFINITIONS, { body: definition })
  await vi.waitFor(async () => await kube.request('GET', resourcePath(other, NAMESPACE)), { timeout: 30_000 })
})
afterAll(async () => {
  await kube.request('DELETE', `/api/v1/namespaces/${NAMESPACE}`)
  await kube.request('DELETE', `${DEFINITIONS}/${definition.metadata.name}`)
  await kube.close()
})

let run: () => Promise<void>
beforeEach(() => {
  const stopping = new AbortController()
  const journal = { ...registry, contentKey: Buffer.alloc(32, 3), now: () => new Date() }
  const shared = { cluster: 'c', namespace: NAMESPACE, kube, db: test.db, journal, owner: 'one', random: Math.random }
  const rest = { log: pino({ level: 'silent' }), settings: DEFAULT_REFLECTOR_SETTINGS }
  const runs = followed.map((kind) => createReflector(kind, { ...shared, ...rest }).run(stopping.signal))
  run = async () => {
    stopping.abort()
    await Promise.all(runs)
  }
  return run
})

describe('two kinds with the same name', () => {
  it('are both watched, with separate states, checkpoints and controllers', async () => {
    const [mine, theirs] = [await create(core), await create(other)]
    await vi.waitFor(async () => expect(await states()).toHaveLength(2), { timeout: 30_000 })
    expect(await states()).toEqual([
      { api_group: '', uid: uidOf(mine), deleted: false },
      { api_group: GROUP, uid: uidOf(theirs), deleted: false },
    ])
    const wakes = (await test.wakes()).map(({ controller, uid, name }) => [controller, uid, name])
    expect(wakes.toSorted()).toEqual([
      ['core', uidOf(mine), 'front'],
      ['other', uidOf(theirs), 'front'],
    ])
    for (const wake of await test.wakes()) {
      const group = wake.controller === 'core' ? '' : GROUP
      const resolution = await resolveWake(wake, directLookups(test.db, registry))
      expect(resolution).toMatchObject({
        to: 'start',
        run: {
          workflowID: `${wake.controller}/${NAMESPACE}/front/${wake.uid}`,
          input: { subject: { group, kind: 'Service' } },
        },
      })
    }
    const checkpoints = test.db
      .selectFrom('watch_checkpoint')
      .select(['api_group', 'kind', 'epoch'])
      .orderBy('api_group')
    // The objects of a list are journaled first, the checkpoint moves last.
    await expect
      .poll(async () => await checkpoints.execute(), { timeout: 30_000 })
      .toEqual([
        { api_group: '', kind: 'Service', epoch: 1 },
        { api_group: GROUP, kind: 'Service', epoch: 1 },
      ])

    // Two objects have the same name and namespace. Deleting one of them does not wake subscribers of the other.
    await test.db.deleteFrom('wake').execute()
    await waitFor('waits-for-core', core)
    await waitFor('waits-for-other', other)
    await remove(other)
    await vi.waitFor(async () => expect((await states()).at(-1)).toMatchObject({ deleted: true }), { timeout: 30_000 })
    expect((await states()).map(({ api_group, deleted }) => [api_group, deleted])).toEqual([
      ['', false],
      [GROUP, true],
    ])
    expect((await test.wakes()).map(({ controller, cause }) => [controller, cause]).toSorted()).toEqual([
      ['other', 'deleted'],
      ['waits-for-other', 'Service front changed'],
    ])
  })

  it('are relisted independently: a list deletes only objects of the listed kind', async () => {
    await create(other)
    await vi.waitFor(async () => expect(await living()).toEqual(['', GROUP]), { timeout: 30_000 })
    // The objects are journaled first, the checkpoint moves last.
    await vi.waitFor(async () => expect(await listed()).toEqual(['', GROUP]), { timeout: 30_000 })
    await run()
    await remove(core)
    await remove(other)
    await create(other)
    // The checkpoint of the core Service is lost, the other one is not.
    await test.db.updateTable('watch_checkpoint').set({ resource_version: null }).where('api_group', '=', '').execute()
    const stopping = new AbortController()
    const journal = { ...registry, contentKey: Buffer.alloc(32, 3), now: () => new Date() }
    const shared = { cluster: 'c', namespace: NAMESPACE, kube, db: test.db, journal, owner: 'two', random: Math.random }
    const runs = followed.map((kind) =>
      createReflector(kind, { ...shared, log: pino({ level: 'silent' }), settings: DEFAULT_REFLECTOR_SETTINGS }).run(
        stopping.signal,
      ),
    )
    await vi.waitFor(async () => expect(await living()).toEqual([GROUP]), { timeout: 30_000 })
    stopping.abort()
    await Promise.all(runs)
    const presumed = test.db.selectFrom('object').select('api_group').where('presumed_deleted', '=', true)
    expect(await presumed.execute()).toEqual([{ api_group: '' }])
  })
})

type Named = typeof core

async function create(kind: Named): Promise<KubeObject> {
  const spec = kind === core ? { ports: [{ port: 80 }] } : {}
  const body = { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name: 'front' }, spec }
  return await kube.request<KubeObject>('POST', resourcePath(kind, NAMESPACE), { body })
}

async function remove(kind: Named): Promise<void> {
  await kube.request('DELETE', resourcePath(kind, NAMESPACE, 'front'))
}

const uidOf = ({ metadata }: KubeObject) => metadata.uid

async function states() {
  const rows = test.db.selectFrom('object').select(['api_group', 'uid', 'deleted']).where('kind', '=', 'Service')
  return await rows.orderBy('api_group').execute()
}

async function living(): Promise<readonly string[]> {
  return (await states()).filter(({ deleted }) => !deleted).map(({ api_group }) => api_group)
}

async function listed(): Promise<readonly string[]> {
  const rows = test.db.selectFrom('watch_checkpoint').select('api_group').where('resource_version', 'is not', null)
  return (await rows.orderBy('api_group').execute()).map(({ api_group }) => api_group)
}

async function waitFor(controller: string, kind: Named): Promise<void> {
  const subject = { controller, cluster: 'c', uid: controller, namespace: NAMESPACE, name: controller }
  await replaceSubscriptions(
    test.db,
    subject,
    [{ ...groupKindOf(kind), namespace: NAMESPACE, name: 'front', traits: [] }],
    new Date(),
  )
}

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
