// T4: tests failures of the journal's PostgreSQL while jobs and deletions run: it is killed, out of connections,
// read-only, or out of disk space. Pawl's processes keep running, and continue when PostgreSQL works again. No job is
// lost and no write happens twice. failover.test.ts tests a failover. Source: spec/engine.md 4.4.

import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { waitUntilJournalIdle, closeLane, type Lane, openLane, RESTART_MS } from '../support/faults/lane.ts'
import { crowd, doubled, unevenJobs } from '../support/tenants/crowd.ts'
import { readiness } from '../support/pawl/pawl.ts'
import { TcpProxy } from '../support/faults/tcp-proxy.ts'
import { byForm, sampleOf } from '../support/matrix/form.ts'
import { OwnPostgres } from '../support/servers/own-postgres.ts'
import { PRODUCTION_TIMEOUTS } from '../support/pawl/stage.ts'

const run = promisify(execFile)
const servers = inject('servers')
const LIMIT_MS = 240_000
const DISK_MIB = 400
/** The minimum number of Installations that are created, changed and deleted during a fault. */
const LIVES = byForm(4, 40)

let disk: string
let hasOwnDisk: boolean
let postgres: OwnPostgres
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
  await postgres.stop()
  if (hasOwnDisk) await run('umount', [disk])
  await rm(disk, { recursive: true, force: true })
}, LIMIT_MS)

interface JournalFault {
  /** Prefix of the Installations. */
  readonly name: string
  /** Completes the sentence "a journal whose PostgreSQL ...". */
  readonly title: string
  readonly needsOwnDisk?: boolean
  /** @param steps resolves after that many creations, changes and deletions of Installations. */
  readonly happen: (steps: (count: number) => Promise<void>) => Promise<void>
}

const ready = async (part: string) => await readiness(lane.pawl.log(part))

const FAULTS: readonly JournalFault[] = [
  {
    name: 'killed',
    title: 'is killed twice while jobs run',
    async happen(steps) {
      for (const at of [2, 9]) {
        await steps(at)
        await postgres.kill()
        await postgres.startAgain()
      }
    },
  },
  {
    name: 'crowded',
    title: 'has no connection left for a while, neither for a running worker nor for one that starts',
    async happen(steps) {
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
    },
  },
  {
    name: 'read-only',
    title: 'takes no writes for a while, like a replica',
    async happen(steps) {
      await steps(3)
      await postgres.set('default_transaction_read_only', 'on')
      for (const part of ['worker', 'bridge']) await expect.poll(() => ready(part), { timeout: RESTART_MS }).toBe(503)
      await postgres.set('default_transaction_read_only', undefined)
    },
  },
  {
    name: 'full',
    title: 'has no room on its disk for a while',
    needsOwnDisk: true,
    async happen(steps) {
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
    },
  },
]
const CASES = sampleOf('faults: journal', FAULTS, 2).map((fault) => [fault.title, fault] as const)

describe('T4: a journal whose PostgreSQL', { timeout: LIMIT_MS }, () => {
  it.for(CASES)('%s loses no job and doubles none', async ([, { name, needsOwnDisk, happen }], { skip }) => {
    skip(
      needsOwnDisk === true && !hasOwnDisk,
      `needs a small file system of its own, and tmpfs cannot be mounted on ${disk} here`,
    )
    await during(name, happen)
  })
})

/**
 * Creates, changes and deletes Installations during the fault, and expects the results of a run without a fault. It
 * creates new Installations until the fault is over, because a fault during which nothing is written tests nothing.
 */
async function during(name: string, happen: JournalFault['happen']): Promise<void> {
  const { cluster, pawl, proxy: api } = lane
  api.arm()
  let done = 0
  const waiting: { readonly count: number; readonly resolve: () => void }[] = []
  const steps = async (count: number) => {
    if (done < count) await new Promise<void>((resolve) => waiting.push({ count, resolve }))
  }
  const onStep = () => {
    done += 1
    for (const { count, resolve } of waiting) if (done >= count) resolve()
  }
  let isOver = false
  const options = { prefix: name, lives: LIVES, isOver: () => isOver, abreast: 4, limitMs: RESTART_MS }
  const happened = happen(steps).finally(() => {
    isOver = true
  })
  const [lives] = await Promise.all([crowd(cluster, options, onStep), happened])
  await waitUntilJournalIdle(lane)
  expect(done).toBe(lives * 3)
  expect(doubled(api.writes)).toEqual([])
  expect(await unevenJobs(pawl)).toEqual([])
  for (const part of ['worker', 'bridge']) expect(pawl.child(part).exitCode, `${part} lives`).toBeNull()
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
