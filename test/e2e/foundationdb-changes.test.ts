// A FoundationDBCluster changes while a client writes: no acknowledged key is lost. The worker is killed once during the creation of the cluster and once
// during a removal, at moments of the seed (`PAWL_SEED` repeats them).

import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { parse } from 'yaml'
import { afterAll, describe, expect, it, vi } from 'vitest'

import { runCommand } from '../support/pawl/run-command.ts'
import { metricsOf, valueOf } from '../support/pawl/scrape.ts'
import { PATIENCE, useDatabases } from '../support/foundationdb/clusters.ts'
import { KeyWriter } from '../support/foundationdb/key-writer.ts'
import { logTools } from '../support/foundationdb/logged-tools.ts'
import { diceOf } from '../support/matrix/dice.ts'
import { SEED, sampleOf } from '../support/matrix/form.ts'

const VERSION = '7.1.67'
const tools = logTools([VERSION])
const databases = useDatabases('foundationdb-changes', ['shop'], tools.folder)
const shop = () => databases.of('shop')
const MANIFEST = new URL('../../examples/foundationdb/cluster.yaml', import.meta.url)
const NAME = 'sample'
const connectionString = async () => (await shop().get(NAME)).status?.connectionString ?? ''

interface Moment {
  readonly title: string
  readonly isReached: () => Promise<boolean>
  /** The command that runs at this moment: if its result is lost, it may run again. */
  readonly command?: string
}

const running = (title: string, command: string): Moment => ({
  title,
  command,
  isReached: () => Promise.resolve(countOf(command) > 0),
})
const CREATION: readonly Moment[] = [
  { title: 'the first pod exists', isReached: async () => (await shop().objects('pods', NAME)).length > 0 },
  { title: 'the coordinators are chosen', isReached: async () => (await connectionString()) !== '' },
  running('the database is being configured', 'configure new'),
]
const REMOVAL: readonly Moment[] = [
  running('a process is being excluded', 'exclude no_wait'),
  running('its exclusion is being confirmed', 'exclude locality'),
  { title: 'its pod is deleted', isReached: async () => (await shop().objects('pods', NAME)).length < 6 },
  running('its exclusion is being lifted', 'include'),
]
const [CREATED, REMOVED] = [CREATION, REMOVAL].map((moments, at) => sampleOf(`foundationdb: ${at}`, moments, 1)[0]!)
/** The worker ends during a call or after it. */
const DELAY_MS = Math.floor(diceOf(SEED)() * 500)

const countOf = (command: string) => tools.commands(`--exec ${command}`).length

async function killWorkerAt({ isReached }: Moment): Promise<void> {
  await vi.waitFor(async () => expect(await isReached()).toBe(true), { timeout: 120_000, interval: 20 })
  await setTimeout(DELAY_MS)
  await databases.tenants.pawl.kill('worker')
  await databases.tenants.pawl.startWorker()
}

/** Each of the commands has run once, or once more if its result is lost. */
function expectOnce(moment: Moment, ...commands: readonly string[]): void {
  for (const command of commands)
    expect(countOf(command), command).toBeLessThanOrEqual(command === moment.command ? 2 : 1)
}

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
    `is created, and configured once, although the worker is killed ${DELAY_MS} ms after ${CREATED!.title}`,
    { timeout: 240_000 },
    async () => {
      const manifest = parse(readFileSync(MANIFEST, 'utf8')) as { readonly spec: object }
      await shop().create({ ...manifest, spec: { ...manifest.spec, minimumUptimeSecondsForBounce: 1 } })
      await killWorkerAt(CREATED!)
      await untilPods(5)
      expectOnce(CREATED!, 'configure new')
      writer = new KeyWriter(tools.fdbcli(VERSION), connectionString)
    },
  )

  it('grows by one process without an exclusion', { timeout: 180_000 }, async () => {
    await shop().patch(NAME, { processCounts: { storage: 4 } })
    await untilPods(6)
    expect(tools.commands('exclude')).toEqual([])
  })

  it(
    `shrinks by one process after its exclusion, without a restart of others, although the worker is killed ${DELAY_MS} ms after ${REMOVED!.title}`,
    { timeout: 240_000 },
    async () => {
      await shop().patch(NAME, { processCounts: { storage: 3 } })
      await killWorkerAt(REMOVED!)
      await untilPods(5)
      await vi.waitFor(() => expect(countOf('include')).toBeGreaterThan(0), PATIENCE)
      expect(countOf('kill')).toBe(0)
      expectOnce(REMOVED!, 'exclude no_wait', 'exclude locality', 'include')
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
