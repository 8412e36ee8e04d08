// Reflector and journal on a real API server.

import { readFileSync } from 'node:fs'
import { pino } from 'pino'
import { parse } from 'yaml'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { createKubeClient, type KubeClient, type KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { rules } from '../activities/journal/build-events.ts'
import { createReflector } from '../../worker/bridge/reflector.ts'
import { DEFAULT_REFLECTOR_SETTINGS } from '../../worker/bridge/settings.ts'
import { annotation, path, type WatchedKind } from '../../workflows/kit/index.ts'
import { createTestDatabase, type TestDatabase } from '../activities/journal/test-database.ts'
import { TcpProxy } from '../support/faults/tcp-proxy.ts'

const configMaps: WatchedKind = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  projection: [annotation('stage')],
  hashed: [path('data')],
}
const NAMESPACE = 'bridge-live'

let test: TestDatabase
let kube: KubeClient
beforeAll(async () => {
  const { databaseUrl, kubeconfigPath } = inject('servers')
  test = await createTestDatabase(databaseUrl)
  kube = createKubeClient({ kubeconfigPath })
  await kube.request('POST', '/api/v1/namespaces', { body: { metadata: { name: NAMESPACE } } }).catch(() => undefined)
})
afterAll(async () => {
  await kube.request('DELETE', `/api/v1/namespaces/${NAMESPACE}`)
  await kube.close()
  await test.drop()
})

const running = async (owner: string, during: () => Promise<void>, client = kube): Promise<void> => {
  const stopping = new AbortController()
  const shared = { cluster: 'c', kube: client, db: test.db, owner, log: pino({ level: 'silent' }), random: Math.random }
  const journal = {
    route: () => ({ ignored: 'only watching' }),
    ...rules,
    contentKey: Buffer.alloc(32, 3),
    now: () => new Date(),
  }
  const run = createReflector(configMaps, { ...shared, journal, settings: DEFAULT_REFLECTOR_SETTINGS }).run(
    stopping.signal,
  )
  await during()
  stopping.abort()
  await run
}
const collection = resourcePath(configMaps, NAMESPACE)
const create = async (name: string) =>
  await kube.request<KubeObject>('POST', collection, { body: { metadata: { name }, data: { key: 'canary-value' } } })
const patch = async (name: string, body: object) =>
  await kube.request<KubeObject>('PATCH', `${collection}/${name}`, {
    body,
    contentType: 'application/merge-patch+json',
  })
const remove = async (name: string) => await kube.request('DELETE', `${collection}/${name}`)
const journaled = async (name: string) => {
  const rows = await test.db
    .selectFrom('watch_event')
    .selectAll()
    .where('namespace', '=', NAMESPACE)
    .where('name', '=', name)
    .orderBy('seq')
    .execute()
  return rows.map(({ type, source, reason }) => `${source} ${type}: ${reason ?? ''}`)
}
const eventually = async (name: string, expected: readonly string[]): Promise<void> => {
  await vi.waitFor(async () => expect(await journaled(name)).toEqual(expected), { timeout: 30_000, interval: 20 })
}

describe('a reflector on a real API server', () => {
  it('journals creation, changes of declared fields, and deletion, across a restart', async () => {
    await create('first')
    const known = ['relist ADDED: only watching']
    await running('one', async () => {
      await eventually('first', known)
      await patch('first', { metadata: { annotations: { stage: 'a' } } })
      await patch('first', { metadata: { annotations: { unrelated: 'x' } } })
      await patch('first', { data: { key: 'canary-other' } })
      await eventually('first', [
        ...known,
        'watch MODIFIED: only watching',
        'watch MODIFIED: nothing declared changed',
        'watch MODIFIED: only watching',
      ])
    })
    await create('second')
    await remove('second')
    await remove('first')
    await running('two', async () => {
      await eventually('second', ['watch ADDED: only watching', 'watch DELETED: only watching'])
      await vi.waitFor(async () => expect((await journaled('first')).at(-1)).toBe('watch DELETED: only watching'), {
        timeout: 30_000,
        interval: 20,
      })
    })
    const rows = [
      await test.db.selectFrom('object').selectAll().execute(),
      await test.db.selectFrom('watch_event').selectAll().execute(),
    ]
    expect(JSON.stringify(rows)).not.toContain('canary')
    expect(await test.db.selectFrom('watch_checkpoint').select(['epoch', 'lease_owner']).execute()).toEqual([
      { epoch: 1, lease_owner: null },
    ])
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

describe('a reflector whose API server becomes silent', () => {
  it('continues on another connection before the next bookmark is due', async () => {
    let real = 0
    kubeconfigAt((port) => (real = port))
    const proxy = await TcpProxy.to(real)
    const client = createKubeClient({
      kubeconfig: kubeconfigAt(() => proxy.port),
      silence: { pingMs: 100, silentMs: 2000 },
    })
    try {
      await running(
        'silent',
        async () => {
          await create('heard')
          await expect.poll(async () => await journaled('heard')).toHaveLength(1)
          expect(proxy.fallSilent()).toBeGreaterThan(0)
          await create('unheard')
          await eventually('unheard', ['watch ADDED: only watching'])
        },
        client,
      )
    } finally {
      await client.close()
      await proxy.stop()
    }
  })
})
