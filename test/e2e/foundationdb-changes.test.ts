// A FoundationDBCluster changes while a client writes: no acknowledged key is lost. The worker is killed once during the creation of the cluster.

import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { afterAll, describe, expect, it, vi } from 'vitest'

import { runCommand } from '../support/pawl/run-command.ts'
import { metricsOf, valueOf } from '../support/pawl/scrape.ts'
import { PATIENCE, useDatabases } from '../support/foundationdb/clusters.ts'
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

/** `pawl fdb`, as the admin. */
async function fdb(...words: readonly string[]) {
  const { kubeconfigPath } = databases.tenants
  return await runCommand('fdb', ...words, '--kubeconfig', kubeconfigPath, '-n', shop().cluster.namespace)
}

describe('a FoundationDBCluster', () => {
  it(
    `is created, and configured once, although the worker is killed when ${MOMENT!.title}`,
    { timeout: 240_000 },
    async () => {
      const manifest = parse(readFileSync(MANIFEST, 'utf8')) as { readonly spec: object }
      await shop().create({ ...manifest, spec: { ...manifest.spec, minimumUptimeSecondsForBounce: 1 } })
      await vi.waitFor(async () => expect(await MOMENT!.isReached()).toBe(true), { timeout: 120_000, interval: 20 })
      await databases.tenants.pawl.kill('worker')
      await databases.tenants.pawl.startWorker()
      await untilPods(5)
      // A worker that is killed during the command does not see its result. The database refuses a second `configure new`.
      expect(tools.commands('configure new').length).toBeLessThanOrEqual(MOMENT!.title.includes('configured') ? 2 : 1)
      writer = new KeyWriter(tools.fdbcli(VERSION), connectionString)
    },
  )

  it('grows by one process without an exclusion', { timeout: 180_000 }, async () => {
    await shop().patch(NAME, { processCounts: { storage: 4 } })
    await untilPods(6)
    expect(tools.commands('exclude')).toEqual([])
  })

  it(
    'shrinks by one process after its exclusion, without a restart of other processes',
    { timeout: 240_000 },
    async () => {
      await shop().patch(NAME, { processCounts: { storage: 3 } })
      await untilPods(5)
      expect(tools.commands('kill')).toEqual([])
      expect(tools.commands('exclude').length).toBeGreaterThanOrEqual(1)
    },
  )

  it('replaces a deleted pod', { timeout: 180_000 }, async () => {
    const [pod] = await shop().objects('pods', NAME)
    await shop().cluster.kube.request('DELETE', shop().path('pods', pod!.metadata.name))
    await vi.waitFor(async () => {
      const pods = await shop().objects('pods', NAME)
      expect(pods.map(({ metadata: { uid } }) => uid)).not.toContain(pod!.metadata.uid)
      expect(pods).toHaveLength(5)
    }, PATIENCE)
    await shop().untilReconciled(NAME)
  })

  it(
    'is analyzed by pawl fdb, which replaces and restarts its processes, and has metrics',
    { timeout: 300_000 },
    async () => {
      const { processGroups = [] } = (await shop().get(NAME)).status ?? {}
      const [replaced, restarted] = processGroups.map(({ processGroupID }) => processGroupID)
      expect(await fdb('remove', 'process-groups', replaced!, '--yes')).toMatchObject({ code: 0 })
      const excluded = await fdb('exclusion-status', NAME, '--interval', '1s', '--fdb-bin', tools.folder)
      expect(excluded.stdout).toMatch(
        /excluded process without data and roles|is excluded and has no process|no process is excluded/,
      )
      await untilPods(5)
      expect((await fdb('restart', restarted!, '--yes', '--fdb-bin', tools.folder)).stdout).toMatch(
        /^1 process in 1 process group /,
      )
      await vi.waitFor(async () => {
        expect((await fdb('analyze', NAME)).stdout).toMatch(/ is healthy: .* with 5 process groups and 5 Pods$/m)
      }, PATIENCE)
      const scraped = await metricsOf(databases.tenants.pawl.log('worker'))
      const labels = `namespace="${shop().cluster.namespace}",name="${NAME}"`
      expect(valueOf(scraped, 'fdb_operator_cluster_status', `${labels},status_type="available"`)).toBe(1)
      expect(valueOf(scraped, 'fdb_operator_desired_process_group_total', `${labels},process_class="storage"`)).toBe(3)
    },
  )

  it('keeps all keys that it has acknowledged', { timeout: 60_000 }, async () => {
    await writer!.stop()
    const { acknowledged } = writer!
    expect(acknowledged.length).toBeGreaterThan(5)
    const found = new Set(await writer!.readAll())
    expect(acknowledged.filter((number) => !found.has(number))).toEqual([])
  })
})
