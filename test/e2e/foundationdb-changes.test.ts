// A FoundationDBCluster changes while a client writes: no acknowledged key is lost. The worker is killed once during the creation of the cluster.

import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { afterAll, describe, expect, it, vi } from 'vitest'

import { PATIENCE, TEST_LIMIT } from '../support/foundationdb/backend.ts'
import { useDatabases } from '../support/foundationdb/clusters.ts'
import { KeyWriter } from '../support/foundationdb/key-writer.ts'
import { logTools } from '../support/foundationdb/logged-tools.ts'
import { sampleOf } from '../support/matrix/form.ts'

const VERSION = '7.1.67'
const tools = logTools([VERSION])
const databases = useDatabases('foundationdb-changes', ['shop'], tools.folder)
const shop = () => databases.of('shop')
const MANIFEST = new URL('../../examples/foundationdb/cluster.yaml', import.meta.url)
const NAME = 'sample'
const connectionString = async () => (await shop().get(NAME)).status?.connectionString ?? ''

/** The worker is killed when the condition is first true. */
const MOMENTS: readonly { readonly title: string; readonly isReached: () => Promise<boolean> }[] = [
  { title: 'the first pod exists', isReached: async () => (await shop().objects('pods', NAME)).length > 0 },
  { title: 'the coordinators are chosen', isReached: async () => (await connectionString()) !== '' },
  {
    title: 'the database is being configured',
    isReached: () => Promise.resolve(tools.commands('configure new').length > 0),
  },
]
const [MOMENT] = sampleOf('foundationdb: creation', MOMENTS, 1)

let writer: KeyWriter | undefined
afterAll(async () => {
  await writer?.stop()
  tools.remove()
})

async function untilPods(count: number): Promise<void> {
  await shop().untilReconciled(NAME)
  await vi.waitFor(async () => expect(await shop().objects('pods', NAME)).toHaveLength(count), PATIENCE)
}

describe('a FoundationDBCluster', () => {
  it(`is created, and configured once, although the worker is killed when ${MOMENT!.title}`, TEST_LIMIT, async () => {
    const manifest = parse(readFileSync(MANIFEST, 'utf8')) as { readonly spec: object }
    await shop().create({ ...manifest, spec: { ...manifest.spec, minimumUptimeSecondsForBounce: 1 } })
    await vi.waitFor(async () => expect(await MOMENT!.isReached()).toBe(true), { ...PATIENCE, interval: 20 })
    await databases.tenants.pawl.kill('worker')
    await databases.tenants.pawl.startWorker()
    await untilPods(5)
    // A worker that is killed during the command does not see its result. The database refuses a second `configure new`.
    expect(tools.commands('configure new').length).toBeLessThanOrEqual(MOMENT!.title.includes('configured') ? 2 : 1)
    writer = new KeyWriter(tools.fdbcli(VERSION), connectionString)
  })

  it('grows by one process without an exclusion', TEST_LIMIT, async () => {
    await shop().patch(NAME, { processCounts: { storage: 4 } })
    await untilPods(6)
    expect(tools.commands('exclude')).toEqual([])
  })

  it('shrinks by one process after its exclusion, without a restart of other processes', TEST_LIMIT, async () => {
    await shop().patch(NAME, { processCounts: { storage: 3 } })
    await untilPods(5)
    expect(tools.commands('kill')).toEqual([])
    expect(tools.commands('exclude').length).toBeGreaterThanOrEqual(1)
  })

  it('replaces a deleted pod', TEST_LIMIT, async () => {
    const [pod] = await shop().objects('pods', NAME)
    await shop().cluster.kube.request('DELETE', shop().path('pods', pod!.metadata.name))
    await vi.waitFor(async () => {
      const pods = await shop().objects('pods', NAME)
      expect(pods.map(({ metadata: { uid } }) => uid)).not.toContain(pod!.metadata.uid)
      expect(pods).toHaveLength(5)
    }, PATIENCE)
    await shop().untilReconciled(NAME)
  })

  it('keeps all keys that it has acknowledged', TEST_LIMIT, async () => {
    await writer!.stop()
    const { acknowledged } = writer!
    expect(acknowledged.length).toBeGreaterThan(5)
    const found = new Set(await writer!.readAll())
    expect(acknowledged.filter((number) => !found.has(number))).toEqual([])
  })
})
