// A worker is stopped (SIGSTOP) with a write on its way, long enough to lose its job to a second worker. When it and its write go on,
// the write comes to nothing: it is fenced by the version it was meant for, or finds what it would have created. CI runs a sample of the
// writes (docs/test-matrices.md).

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import type { WritePoint } from '../support/api-proxy.ts'
import { atRest, install, type Lane, LanePool, objectsOf, openLane, RESTART_MS } from '../support/crash.ts'
import { sampleOf } from '../support/matrix/form.ts'

const servers = inject('servers')

const ALL: readonly (WritePoint & { readonly what: string })[] = [
  { label: 'PATCH installations/status', nth: 1, what: 'the claim of the job' },
  { label: 'PATCH installations', nth: 1, what: 'the removal of the request' },
  { label: 'POST executions', nth: 1, what: 'the creation of the execution' },
  { label: 'POST deployitems', nth: 1, what: 'the creation of a deploy item' },
  { label: 'POST secrets', nth: 1, what: 'the creation of an export' },
  { label: 'PATCH deployitems/status', nth: 1, what: 'the end of a deploy item' },
  { label: 'POST dataobjects', nth: 1, what: 'the export of the execution' },
  { label: 'PATCH executions/status', nth: 1, what: 'the end of the execution' },
  { label: 'PATCH installations/status', nth: 2, what: 'the end of the job' },
]

const POINTS = sampleOf('a worker that is stopped with a write in flight', ALL, 2)

// A run takes seconds; on a busy machine a process takes many to start. More runs are begun than there are lanes: the wait for one counts.
const LIMIT_MS = 480_000
/** How long a worker that goes on may take, in milliseconds, until it has journaled an answer. */
const GIVEN_UP_MS = 10_000

const lanes = new LanePool(() => openLane('stopped', servers))
beforeAll(() => lanes.fill(2), LIMIT_MS)
afterAll(() => lanes.close())

describe.concurrent('T7, T13: a worker that is stopped until its job and the next one are over', () => {
  it.each(POINTS)(
    'cannot land $what',
    async ({ label, nth }) => {
      await lanes.use(async (lane) => {
        const { cluster, proxy, pawl } = lane
        const name = `at-${label.toLowerCase().replaceAll(/[^a-z]/g, '-')}-${nth}`
        const held = holdAt(lane, { label, nth })
        const first = install(lane, name)
        await held.stopped
        await pawl.startWorker('second', servers.accounts.worker)
        const { jobIDs } = await first
        expect(jobIDs).toBe(1)
        const job = (await cluster.get('installations', name))?.status?.jobID
        await cluster.trigger(name)
        await cluster.finished(name, job, 'installations', RESTART_MS)
        await atRest(lane)
        const before = await versionsOf(lane)
        const count = proxy.writes.length

        const since = new Date()
        const ended = await lastEnd(lane)
        held.release()
        await written(lane, { ended, count })
        await atRest(lane)

        const late = proxy.writes.slice(count)
        // What the pass would have written next is refused like the write that was held.
        expect(late[0]).toMatchObject({ status: 409, label })
        expect(late.filter((one) => one.status < 400)).toEqual([])
        expect(await versionsOf(lane), await told(lane, since)).toEqual(before)
        await pawl.kill('second')
      })
    },
    LIMIT_MS,
  )
})

/** Holds the write before it is forwarded and stops its worker; `release` lets both go on. */
function holdAt({ proxy, pawl }: Lane, at: WritePoint) {
  let release = (): void => undefined
  const stopped = new Promise<void>((resolve) =>
    proxy.arm({
      ...{ at, when: 'before' },
      async act() {
        pawl.child('worker').kill('SIGSTOP')
        resolve()
        await new Promise<void>((go) => (release = go))
        pawl.child('worker').kill('SIGCONT')
        return 'go on'
      },
    }),
  )
  return { stopped, release: () => release() }
}

/** When the last write ended, by the journal; a repeated write ends again in the same row. */
async function lastEnd({ pawl: { db } }: Lane): Promise<number> {
  const { at } = await db
    .selectFrom('action')
    .select((table) => table.fn.max('finished_at').as('at'))
    .executeTakeFirstOrThrow()
  return at?.getTime() ?? 0
}

/**
 * Waits until the write has reached the server and the worker has journaled how it ended: the last thing it does about it. A worker that hears first
 * that nobody waits for its activity any more leaves the request alone, and its row unfinished.
 */
async function written(lane: Lane, before: { readonly ended: number; readonly count: number }): Promise<void> {
  const atServer = () => {
    if (lane.proxy.writes.length <= before.count) throw new Error('the write that was held has not come to the server')
  }
  await vi.waitFor(atServer, { timeout: 60_000, interval: 50 })
  const deadline = Date.now() + GIVEN_UP_MS
  while (Date.now() < deadline && (await lastEnd(lane)) <= before.ended) await sleep(50)
}

/** What the journal says of a time: what was written, and by whom; what was told; which runs there are. For whoever must explain a failure. */
async function told({ pawl: { db } }: Lane, since: Date): Promise<string> {
  const [actions, events, jobs] = await Promise.all([
    db.selectFrom('action').selectAll().where('started_at', '>=', since).orderBy('started_at').execute(),
    db.selectFrom('watch_event').selectAll().where('at', '>=', since).orderBy('seq').execute(),
    db.selectFrom('job').selectAll().orderBy('started_at').execute(),
  ])
  return JSON.stringify({ since, actions, events, jobs }, null, 1)
}

/** Every object of the namespace with its version. */
async function versionsOf({ cluster }: Lane): Promise<readonly string[]> {
  const objects = await objectsOf(cluster)
  return objects.map(({ role, object: { metadata } }) => `${role} ${metadata.name} ${metadata.resourceVersion ?? ''}`)
}
