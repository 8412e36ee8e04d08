// T4: tests failures of the journal's PostgreSQL while jobs and deletions run: it is killed, out of connections,
// read-only, out of disk space, or fails over to a standby. Pawl's processes keep running, and continue when PostgreSQL
// works again. No job is lost and no write happens twice. Source: spec/engine.md 4.4.

import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { CHAIN, installation, waitingItem } from '../support/cluster/cluster.ts'
import { waitUntilJournalIdle, closeLane, type Lane, openLane, RESTART_MS } from '../support/faults/lane.ts'
import { doubled, unevenJobs } from '../support/storm/checks.ts'
import { Lives } from '../support/storm/lives.ts'
import { readiness } from '../support/pawl/pawl.ts'
import { TcpProxy } from '../support/faults/tcp-proxy.ts'
import { diceOf } from '../support/matrix/dice.ts'
import { byForm, sampleOf, SEED } from '../support/matrix/form.ts'
import { OwnPostgres } from '../support/servers/own-postgres.ts'
import { PRODUCTION_TIMEOUTS } from '../support/pawl/stage.ts'

const run = promisify(execFile)
const servers = inject('servers')
const LIMIT_MS = 240_000
const DISK_MIB = 400
/** The minimum number of Installations that are created and changed during a fault. */
const LIVES = byForm(4, 40)

let disk: string
let hasOwnDisk: boolean
/** The present primary. */
let postgres: OwnPostgres
const replaced: OwnPostgres[] = []
/** Leads Pawl to the present primary. */
let proxy: TcpProxy
let lane: Lane

beforeAll(async () => {
  disk = await mkdtemp(join(tmpdir(), 'pawl-disk-'))
  hasOwnDisk = await mount(disk)
  postgres = await OwnPostgres.start(join(disk, 'server'))
  // Otherwise its log fills the small disk before the tables do.
  await postgres.set('max_wal_size', '64MB')
  proxy = await TcpProxy.to(postgres.port)
  const databaseUrl = proxy.through(postgres.url)
  lane = await openLane('journal-faults', { ...servers, databaseUrl }, { workerFlags: PRODUCTION_TIMEOUTS })
}, LIMIT_MS)
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') process.stderr.write(`open after "${task.name}": ${await lane.pawl.openState()}\n`)
})
afterAll(async () => {
  await closeLane(lane)
  await proxy.stop()
  for (const one of [postgres, ...replaced]) await one.stop()
  if (hasOwnDisk) await run('umount', [disk])
  await rm(disk, { recursive: true, force: true })
}, LIMIT_MS)

interface JournalFault {
  /** Completes the sentence "a journal whose PostgreSQL ...". */
  readonly title: string
  readonly needsOwnDisk?: boolean
  readonly run: () => Promise<void>
}

/** Resolves after that many creations, changes and requests of deletions of Installations. */
type Steps = (count: number) => Promise<void>

const ready = async (part: string) => await readiness(lane.pawl.log(part))

const FAULTS: readonly JournalFault[] = [
  {
    title: 'is killed twice while jobs run',
    run: () =>
      during('killed', async (steps) => {
        for (const at of [2, 9]) {
          await steps(at)
          await postgres.kill()
          await postgres.startAgain()
        }
      }),
  },
  {
    title: 'has no connection left for a while, neither for a running worker nor for one that starts',
    run: () =>
      during('crowded', async (steps) => {
        await steps(3)
        const greedy = await takeAllConnections()
        // Pawl may have reconnected first.
        const withNone = async () => {
          await greedy.takeMore()
          return await ready('worker')
        }
        await expect.poll(withNone, { timeout: RESTART_MS, interval: 500 }).toBe(503)
        await lane.pawl.kill('worker')
        const before = lane.pawl.log('worker').length
        const started = lane.pawl.startWorker()
        await expect
          .poll(() => lane.pawl.log('worker').slice(before), { timeout: RESTART_MS })
          .toContain('the journal is not ready')
        await greedy.end()
        await started
      }),
  },
  {
    title: 'takes no writes for a while, like a replica',
    run: () =>
      during('read-only', async (steps) => {
        await steps(3)
        await postgres.set('default_transaction_read_only', 'on')
        for (const part of ['worker', 'bridge']) await expect.poll(() => ready(part), { timeout: RESTART_MS }).toBe(503)
        await postgres.set('default_transaction_read_only', undefined)
      }),
  },
  {
    title: 'has no room on its disk for a while',
    needsOwnDisk: true,
    run: () =>
      during('full', async (steps) => {
        await steps(3)
        const filler = join(disk, 'filler')
        await fill(filler)
        await expect.poll(() => ready('worker'), { timeout: RESTART_MS }).toBe(503)
        await rm(filler)
        // A server that cannot write its WAL exits.
        const readyAgain = async () => {
          if (postgres.isDead) await postgres.startAgain()
          return await ready('worker')
        }
        await expect.poll(readyAgain, { timeout: RESTART_MS, interval: 500 }).toBe(200)
      }),
  },
  {
    title: 'fails over to a standby that is up to date',
    run: () =>
      during('failover', async (steps) => {
        const standby = await postgres.addStandby()
        await postgres.set('synchronous_standby_names', '*')
        const states = async () => (await postgres.ask('select sync_state from pg_stat_replication')).map(Object.values)
        await expect.poll(states).toEqual([['sync']])
        await steps(4)
        await failOver(standby)
      }),
  },
  { title: 'fails over to a standby that lacks the last commits', run: failOverWithLag },
]

/** Kills the primary, promotes its standby, and leads connections there. */
async function failOver(standby: OwnPostgres): Promise<void> {
  proxy.refuse()
  await postgres.kill()
  await standby.promote()
  replaced.push(postgres)
  postgres = standby
  proxy.switchTo(standby.port)
}

const CASES = sampleOf('faults: journal', FAULTS, 3).map((fault) => [fault.title, fault] as const)

describe('T4: a journal whose PostgreSQL', { timeout: LIMIT_MS }, () => {
  it.for(CASES)('%s loses no job and doubles none', async ([, { needsOwnDisk, run: happen }], { skip }) => {
    skip(
      needsOwnDisk === true && !hasOwnDisk,
      `needs a small file system of its own, and tmpfs cannot be mounted on ${disk} here`,
    )
    await happen()
  })
})

/**
 * Creates, changes and deletes Installations during the fault, and expects the results of a run without a fault. It
 * creates new Installations until the fault is over, because a fault during which nothing is written tests nothing.
 */
async function during(name: string, happen: (steps: Steps) => Promise<void>): Promise<void> {
  const { cluster, pawl, proxy: api } = lane
  api.arm()
  let done = 0
  const waiting: { readonly count: number; readonly resolve: () => void }[] = []
  const steps: Steps = async (count) => {
    if (done < count) await new Promise<void>((resolve) => waiting.push({ count, resolve }))
  }
  const onStep = () => {
    done += 1
    for (const { count, resolve } of waiting) if (done >= count) resolve()
  }
  let isOver = false
  const lives = new Lives(cluster, { random: diceOf(SEED), limitMs: RESTART_MS, prefix: name, onStep })
  await lives.prepare()
  const happened = happen(steps).finally(() => {
    isOver = true
  })
  await Promise.all([lives.run(4, () => isOver && lives.counts.created >= LIVES), happened])
  await waitUntilJournalIdle(lane)
  expect([...lives.failures, ...(await lives.wrong())]).toEqual([])
  await lives.end()
  await waitUntilJournalIdle(lane)
  expect(doubled(api.writes)).toEqual([])
  expect(await unevenJobs(pawl)).toEqual([])
  for (const part of ['worker', 'bridge']) expect(pawl.child(part).exitCode, `${part} lives`).toBeNull()
}

/** The bridge starts at the checkpoint of the new server, and journals all later events again. */
async function failOverWithLag(): Promise<void> {
  const { cluster, pawl } = lane
  const stream = await TcpProxy.to(postgres.port)
  onTestFinished(() => stream.stop())
  const standby = await postgres.addStandby(stream.port)
  lane.proxy.arm()
  await cluster.create(
    installation('before', [waitingItem('slow'), { name: 'next', dependsOn: ['slow'] }]),
    'installations',
  )
  const items = await cluster.waitUntilItems('before', ['slow'], (item) => item?.status?.phase === 'Progressing')
  await cluster.create(installation('edited', CHAIN), 'installations')
  const edited = await cluster.waitUntilFinished('edited')
  await cluster.create(installation('removed', CHAIN), 'installations')
  await pawl.waitUntilSettled(await cluster.waitUntilFinished('removed'))
  await pawl.waitUntilSettled(edited)
  await expect.poll(async () => await isUpToDate(standby)).toBe(true)

  // From here on the standby gets no commits.
  stream.refuse()
  await cluster.finishItem(items.get('slow')!, 'Succeeded')
  const before = await cluster.waitUntilFinished('before')
  await cluster.create(
    installation('midway', [waitingItem('slow'), { name: 'next', dependsOn: ['slow'] }]),
    'installations',
  )
  const midway = await cluster.waitUntilItems('midway', ['slow'], (item) => item?.status?.phase === 'Progressing')
  await cluster.create(installation('lost', CHAIN), 'installations')
  const made = await cluster.waitUntilFinished('lost')
  await cluster.trigger('edited')
  const again = await cluster.waitUntilFinished('edited', edited.status?.jobID)
  await cluster.delete('installations', 'removed')
  await cluster.waitUntilGone('removed')
  for (const one of [before, made, again]) await pawl.waitUntilSettled(one)
  // Journaled, but no job has started.
  await cluster.create(installation('idle', CHAIN, { triggered: false }), 'installations')
  await pawl.waitUntilSettled((await cluster.get('installations', 'idle'))!)
  await failOver(standby)

  await cluster.finishItem(midway.get('slow')!, 'Succeeded')
  const { status } = await cluster.waitUntilFinished('midway', undefined, 'installations', RESTART_MS)
  expect(status, JSON.stringify(status?.lastError)).toMatchObject({ phase: 'Succeeded' })
  await waitUntilJournalIdle(lane)
  await cluster.trigger('idle')
  expect((await cluster.waitUntilFinished('idle')).status).toMatchObject({ phase: 'Succeeded' })
  await waitUntilJournalIdle(lane)
  expect(doubled(lane.proxy.writes)).toEqual([])
  for (const one of [before, made, again])
    expect((await cluster.get('installations', one.metadata.name))?.status).toEqual(one.status)
}

async function isUpToDate(standby: OwnPostgres): Promise<boolean> {
  const [{ at } = {}] = await postgres.ask('select pg_current_wal_flush_lsn() as at')
  const [{ ahead } = {}] = await standby.ask(`select pg_last_wal_replay_lsn() - '${String(at)}'::pg_lsn as ahead`)
  return Number(ahead) >= 0
}

/** Takes all connections of the server, including Pawl's. */
async function takeAllConnections(): Promise<{
  readonly takeMore: () => Promise<void>
  readonly end: () => Promise<void>
}> {
  const taken: pg.Client[] = []
  for (let isFull = false; !isFull;) {
    proxy.cutAll()
    isFull = (await Promise.all(Array.from({ length: 25 }, take))).includes(false)
  }
  async function take(): Promise<boolean> {
    const client = new pg.Client({ connectionString: postgres.url })
    client.on('error', () => undefined)
    try {
      await client.connect()
      taken.push(client)
      return true
    } catch {
      return false
    }
  }
  // Pawl may have reconnected meanwhile.
  proxy.cutAll()
  await expect.poll(take).toBe(false)
  const end = async () => {
    await Promise.all(taken.map(async (client) => await client.end()))
  }
  const takeMore = async () => {
    proxy.cutAll()
    while (await take());
  }
  return { takeMore, end }
}

/** Mounts a small file system. @returns false when this process is not allowed to mount. */
async function mount(dir: string): Promise<boolean> {
  const isMounted = await run('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MIB}m`, 'tmpfs', dir]).then(
    () => true,
    () => false,
  )
  // PostgreSQL runs as another user.
  await chmod(dir, 0o711)
  return isMounted
}

async function fill(file: string): Promise<void> {
  await expect(run('dd', ['if=/dev/zero', `of=${file}`, 'bs=4k'])).rejects.toThrow('No space left')
}
