// T4: what happens to the PostgreSQL of the journal while jobs and deletions run: killed, out of connections, read-only, out of disk. Processes live on, and
// go on when it is back; nothing is lost, nothing happens twice. Failover has a file of its own. Source: spec/engine.md 4.4.

import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { atRest, closeLane, type Lane, openLane, RESTART_MS } from '../support/crash.ts'
import { crowd, doubled, unevenJobs } from '../support/crowd.ts'
import { isLong } from '../support/matrix/form.ts'
import { readiness } from '../support/readiness.ts'
import { FickleProxy } from '../support/fickle-proxy.ts'
import { OwnPostgres } from '../support/own-postgres.ts'
import { PATIENT } from '../support/stage.ts'

const run = promisify(execFile)
const servers = inject('servers')
const LIMIT_MS = 240_000
const DISK_MIB = 400

let disk: string
let hasOwnDisk: boolean
let postgres: OwnPostgres
let proxy: FickleProxy
let lane: Lane

beforeAll(async () => {
  disk = await mkdtemp(join(tmpdir(), 'pawl-disk-'))
  hasOwnDisk = await mount(disk)
  postgres = await OwnPostgres.start(join(disk, 'server'))
  // Else its log takes the small disk before the tables do.
  await postgres.set('max_wal_size', '64MB')
  proxy = await FickleProxy.to(postgres.port)
  const databaseUrl = proxy.through(postgres.url)
  lane = await openLane('journal-faults', { ...servers, databaseUrl }, { workerFlags: PATIENT })
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

describe('a journal whose PostgreSQL', { timeout: LIMIT_MS }, () => {
  it('T4: is killed twice while jobs run loses none and doubles none', async () => {
    await during('killed', async (steps) => {
      for (const at of [2, 9]) {
        await steps(at)
        await postgres.kill()
        await postgres.startAgain()
      }
    })
  })

  it('T4: has no connection left for a while, neither for who runs nor for who starts', async () => {
    await during('crowded', async (steps) => {
      await steps(3)
      const greedy = await takeAllConnections()
      // What Pawl was quicker to get back keeps it going.
      const withNone = async () => {
        await greedy.takeMore()
        return await readiness(lane.pawl.log('worker'))
      }
      await expect.poll(withNone, { timeout: RESTART_MS, interval: 500 }).toBe(503)
      await lane.pawl.kill('worker')
      const seen = lane.pawl.log('worker').length
      const started = lane.pawl.startWorker()
      await expect
        .poll(() => lane.pawl.log('worker').slice(seen), { timeout: RESTART_MS })
        .toContain('the journal is not ready')
      await greedy.end()
      await started
    })
  })

  it('T4: takes no writes for a while, as one that was made a replica', async () => {
    await during('read-only', async (steps) => {
      await steps(3)
      await postgres.set('default_transaction_read_only', 'on')
      await expect.poll(() => readiness(lane.pawl.log('worker')), { timeout: RESTART_MS }).toBe(503)
      await expect.poll(() => readiness(lane.pawl.log('bridge')), { timeout: RESTART_MS }).toBe(503)
      await postgres.set('default_transaction_read_only', undefined)
    })
  })

  it('T4: has no room on its disk for a while', async ({ skip }) => {
    skip(!hasOwnDisk, `needs a small file system of its own, and tmpfs cannot be mounted on ${disk} here`)
    await during('full', async (steps) => {
      await steps(3)
      const filler = join(disk, 'filler')
      await fill(filler)
      await expect.poll(() => readiness(lane.pawl.log('worker')), { timeout: RESTART_MS }).toBe(503)
      await rm(filler)
      // It may have given up, or be about to, where it could not write its log.
      const readyAgain = async () => {
        if (postgres.isDead) await postgres.startAgain()
        return await readiness(lane.pawl.log('worker'))
      }
      await expect.poll(readyAgain, { timeout: RESTART_MS, interval: 500 }).toBe(200)
    })
  })
})

/**
 * Lives go on while something happens, and new ones are begun until it is over: who has nothing to write does not notice. Then all has to be as if
 * nothing had. `steps` resolves when so many steps of lives are done.
 */
async function during(
  name: string,
  happens: (steps: (count: number) => Promise<void>) => Promise<void>,
): Promise<void> {
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
  const happened = happens(steps).finally(() => {
    isOver = true
  })
  const [lives] = await Promise.all([crowd(cluster, options, onStep), happened])
  await atRest(lane)
  expect(done).toBe(lives * 3)
  expect(doubled(api.writes)).toEqual([])
  expect(await unevenJobs(pawl)).toEqual([])
  for (const part of ['worker', 'bridge']) expect(pawl.child(part).exitCode, `${part} lives`).toBeNull()
}

const LIVES = isLong ? 40 : 6

/** Takes every connection that the server has, those of Pawl included. */
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
  // What Pawl has got back meanwhile.
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

/** A file system that is soon full. @returns whether it may be mounted here. */
async function mount(dir: string): Promise<boolean> {
  const isMounted = await run('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MIB}m`, 'tmpfs', dir]).then(
    () => true,
    () => false,
  )
  // PostgreSQL runs as a user of its own.
  await chmod(dir, 0o711)
  return isMounted
}

/** Takes all the room that is left. */
async function fill(file: string): Promise<void> {
  await expect(run('dd', ['if=/dev/zero', `of=${file}`, 'bs=4k'])).rejects.toThrow('No space left')
}
