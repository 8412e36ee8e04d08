// Tests a process that is killed: between two commits in different systems, the dispatcher between journal and Temporal,
// the bridge between API server and journal (Sieve's "intermediate state"); or before its successor reads an older state
// of the cluster ("stale state" and "time travel"). The result equals that of an undisturbed run, with the same number of
// creations, deletions and triggers. Source: spec/engine.md 4.2; docs/concepts/faults.md.

import { type RawBuilder, sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import type { ReadFaults, WritePoint } from '../support/faults/http-proxy.ts'
import { API, type Item, type LsObject, waitingItem } from '../support/cluster/cluster.ts'
import { type Course, courseOf, install, runBoth, uninstall, withoutSettles } from '../support/faults/course.ts'
import { withCrash } from '../support/faults/crash.ts'
import { closeLane, type Lane, openLane, RESTART_MS, runUndisturbed } from '../support/faults/lane.ts'
import { Gate } from '../support/faults/gate.ts'
import { EXPIRED } from '../support/faults/http-messages.ts'
import { asOldAsAllowed, frozenAt } from '../support/faults/stale-reads.ts'
import { sampleOf } from '../support/matrix/form.ts'
import { VersionWatch } from '../support/cluster/version-watch.ts'

const servers = inject('servers')

// A process may take many seconds to start on a busy machine, and a disturbed job takes longer.
const LIMIT_MS = 240_000
/** The advisory lock that statements wait for. While one waits, the test kills its process. */
const LOCK = 4711
// So many items that Pawl lists them instead of reading them one by one.
const MANY: readonly Item[] = Array.from({ length: 8 }, (_, index) => ({ name: `item-${index}` }))
const FOLLOWED = ['installations', 'executions', 'deployitems'].map((plural) => ({ apiVersion: API, plural }))
/** The number of stale reads. Later reads return the current state. */
const STALE_READS = 12

let lane: Lane
let history: VersionWatch
let both: readonly Course[]
let many: readonly Course[]
let waited: Course

beforeAll(async () => {
  await runUndisturbed('sieve', servers, async (own) => {
    both = await runBoth(own, 'undisturbed')
    own.proxy.arm()
    const job = await install(own, 'many', MANY)
    own.proxy.arm()
    many = [job, await uninstall(own, 'many')]
    waited = await waitAndEnd(own, 'waiting', () => Promise.resolve())
  })
  lane = await openLane('sieve', servers)
  await sql`create function wait_for_test() returns trigger language plpgsql as $$ begin
    perform pg_advisory_xact_lock(${sql.lit(LOCK)});
    return coalesce(new, old);
  end $$`.execute(lane.pawl.db)
  history = VersionWatch.start(lane.cluster, FOLLOWED)
}, LIMIT_MS)
afterEach(() => {
  lane.proxy.reads = {}
  lane.bridgeProxy.reads = {}
})
afterAll(async () => {
  await history.stop()
  await closeLane(lane)
})

describe('an installation whose dispatcher is killed', { timeout: LIMIT_MS }, () => {
  const kills = [
    ['S2: before its run is started, when it has been claimed', sql`insert on job`],
    ['S2: after its run was started, before that is acknowledged', sql`delete on wake`],
  ] as const
  it.each(sampleOf('a dispatcher that is killed', kills, 1))(
    '%s ends like an undisturbed one',
    async (title, statement) => {
      const name = title.includes('before its run') ? 'claimed' : 'started'
      const job = await killedAt('worker', statement, () => install(lane, name))
      const deletion = await killedAt('worker', statement, () => uninstall(lane, name))
      expect([job, deletion].map(({ course }) => course).map(withoutSettles)).toEqual(both.map(withoutSettles))
    },
  )
})

describe('an installation whose bridge is killed', { timeout: LIMIT_MS }, () => {
  it('S3: during an event ends like an undisturbed one; the next bridge resumes from the checkpoint without a list', async () => {
    const asked: string[] = []
    lane.bridgeProxy.reads = {
      instead({ plural, isWatch, query }) {
        if (plural === 'installations') asked.push(isWatch ? `watch ${query.get('resourceVersion') ?? ''}` : 'list')
        return undefined
      },
    }
    const resumed = async (half: () => Promise<Course>) => {
      asked.length = 0
      const { course, checkpoint } = await killedAt('bridge', sql`insert on watch_event`, half)
      expect(asked).toEqual([`watch ${checkpoint}`])
      return course
    }
    const job = await resumed(() => install(lane, 'received'))
    const deletion = await resumed(() => uninstall(lane, 'received'))
    expect([job, deletion].map(withoutSettles)).toEqual(both.map(withoutSettles))
  })
})

const CRASHES: readonly { readonly job: WritePoint; readonly deletion: WritePoint }[] = [
  { job: { label: 'POST executions', nth: 1 }, deletion: { label: 'DELETE executions', nth: 1 } },
  { job: { label: 'POST deployitems', nth: 2 }, deletion: { label: 'PATCH deployitems', nth: 1 } },
  { job: { label: 'PATCH deployitems/status', nth: 1 }, deletion: { label: 'DELETE deployitems', nth: 2 } },
]
const TRIED = sampleOf('a worker that reads stale lists', CRASHES, 1)
const named = TRIED.map((one) => [`${one.job.label}, then ${one.deletion.label}`, one] as const)

describe('S5: an installation whose next worker', { timeout: LIMIT_MS }, () => {
  it.each(named)('reads the state before the last write ends like an undisturbed one: after %s', async (_title, at) => {
    const name = `frozen-${CRASHES.indexOf(at)}`
    const job = await frozen(at.job, () => install(lane, name))
    const deletion = await frozen(at.deletion, () => uninstall(lane, name))
    expect([job, deletion].map(withoutSettles)).toEqual(both.map(withoutSettles))
  })

  it('gets the oldest permitted lists ends like an undisturbed one', async () => {
    let stale = 0
    lane.proxy.reads = { instead: asOldAsAllowed(history, () => stale++) }
    const after = (label: string, nth: number) => ({ part: 'worker', when: 'after', at: { label, nth } }) as const
    const job = await withCrash(lane, after('PATCH deployitems/status', 5), () => install(lane, 'lists', MANY))
    const deletion = await withCrash(lane, after('DELETE deployitems', 5), () => uninstall(lane, 'lists'))
    expect([job, deletion].map(withoutSettles)).toEqual(many.map(withoutSettles))
    expect(stale).toBeGreaterThan(0)
  })
})

describe(
  'S5: an installation whose next worker reads single objects from before the job',
  { timeout: LIMIT_MS },
  () => {
    it('uses lists that are not older than the journal', async () => {
      const { proxy, pawl } = lane
      const reads: string[] = []
      const lists = FOLLOWED.map(({ plural }) => `LIST ${plural}`)
      let stale = 0
      const isBehind = () => stale++ < STALE_READS || lists.some((list) => !reads.includes(list))
      // The next worker has no cache of the waiting job, so it reads the objects first, and has no write to repeat.
      const job = await waitAndEnd(lane, 'gets', async ({ uid, item }) => {
        await pawl.waitUntilJournaled(item)
        await vi.waitFor(async () => expect(await underWay(uid)).toEqual([]), { timeout: RESTART_MS, interval: 50 })
        await pawl.kill('worker')
        const before = frozenAt(history, createdAt(uid), isBehind)
        proxy.reads = {
          instead(read) {
            reads.push(`${read.name === undefined ? 'LIST' : 'GET'} ${read.plural}`)
            return read.name === undefined ? undefined : before(read)
          },
        }
        await pawl.startWorker()
      })
      expect(withoutSettles(job)).toEqual(withoutSettles(waited))
      expect(stale).toBeGreaterThan(0)
      expect(reads).toEqual(expect.arrayContaining(lists))
    })
  },
)

describe('S6: a restarted bridge that lists an older state', { timeout: LIMIT_MS }, () => {
  it('neither triggers nor deletes converged objects', async () => {
    const { cluster, proxy, pawl } = lane
    proxy.arm()
    const before = await install(lane, 'old')
    const found = await cluster.get('installations', 'old')
    await backInTime(createdAt(found?.metadata.uid ?? ''))
    const after = await courseOf(lane, 'old')
    expect({ ...after, runs: [] }).toEqual({ ...before, runs: [] })
    // The old list may start another run, which finds nothing to do.
    expect(after.runs.filter((run) => run === 'installation: Succeeded')).toHaveLength(1)
    await expect.poll(async () => await pawl.wakesOf('old')).toEqual([])
  })

  const states = [
    ['the execution, and no item', 'waits', ({ execution }: Found) => execution],
    ['nothing of it', 'waits-too', ({ uid }: Found) => createdAt(uid) - 1],
  ] as const
  it.each(sampleOf('a bridge that lists an older state', states, 1))(
    'loses nothing of a waiting job: there is %s',
    async (_title, name, version) => {
      const course = await waitAndEnd(lane, name, async (found) => {
        await backInTime(version(found))
      })
      expect(withoutSettles({ ...course, runs: [] })).toEqual(withoutSettles({ ...waited, runs: [] }))
      expect(course.runs).toContain('installation: Succeeded')
    },
  )
})

/** All due wakes, and the pending activities and workflow task of an object's run. */
async function underWay(uid: string): Promise<readonly string[]> {
  const { db, client } = lane.pawl
  const wakes = await db.selectFrom('wake').select('controller').where('due', '<=', new Date()).execute()
  const { workflow_id: id } = await db
    .selectFrom('job')
    .select('workflow_id')
    .where('uid', '=', uid)
    .where('outcome', 'is', null)
    .executeTakeFirstOrThrow()
  const { raw } = await client.workflow.getHandle(id).describe()
  const activities = (raw.pendingActivities ?? []).map(({ activityType }) => activityType?.name ?? '')
  // Temporal repeats a workflow task whose result it has not received, including its local activities.
  const tasks = (raw.pendingWorkflowTask ?? null) === null ? [] : ['workflow task']
  return [...wakes.map(({ controller }) => controller), ...activities, ...tasks]
}

/** The resourceVersion at which an object was created. */
function createdAt(uid: string): number {
  return Number(history.versions.get(uid)?.[0]?.metadata.resourceVersion)
}

/**
 * Runs the job or the deletion, and kills the worker after a write. The first reads of the next worker return the state
 * before this write.
 */
async function frozen(at: WritePoint, half: () => Promise<Course>): Promise<Course> {
  const { proxy } = lane
  let stale = 0
  let frozenReads: ReadFaults['instead']
  // Evaluated for each read: the version is known only after the write.
  proxy.reads = {
    instead: (read) => {
      const last = proxy.writes.findLast(({ status }) => status < 300)
      if (proxy.isArmed || last === undefined) return undefined
      frozenReads ??= frozenAt(history, Number(last.answer.metadata.resourceVersion) - 1, () => stale++ < STALE_READS)
      return frozenReads(read)
    },
  }
  const course = await withCrash(lane, { part: 'worker', when: 'after', at }, half)
  expect(stale).toBeGreaterThan(0)
  return course
}

/**
 * Kills the bridge; the next bridge lists the state at this version. The watches deliver events only after all wakes of
 * this list are done.
 */
async function backInTime(version: number): Promise<void> {
  const { pawl, bridgeProxy } = lane
  const gate = new Gate()
  const refusedOnce = new Set<string>()
  const listed = frozenAt(history, version, () => true)
  await pawl.kill('bridge')
  bridgeProxy.reads = {
    async instead(read) {
      if (!history.follows(read.plural)) return undefined
      if (!read.isWatch) return await listed(read)
      if (refusedOnce.has(read.plural)) return undefined
      refusedOnce.add(read.plural)
      return EXPIRED
    },
    async lines(_read, line) {
      await gate.opened
      return [line]
    },
  }
  await pawl.startBridge()
  await vi.waitFor(async () => expect(await quiet(version)).toBe(true), { timeout: RESTART_MS, interval: 50 })
  gate.open()
}

/** Whether the bridge has listed all kinds at this version, and no due wake is left. */
async function quiet(version: number): Promise<boolean> {
  const { db } = lane.pawl
  const [checkpoints, wakes] = await Promise.all([
    db.selectFrom('watch_checkpoint').select('kind').where('resource_version', '=', version).execute(),
    db.selectFrom('wake').select('uid').where('due', '<=', new Date()).execute(),
  ])
  return checkpoints.length >= FOLLOWED.length && wakes.length === 0
}

interface Found {
  readonly uid: string
  /** The resourceVersion at which the Execution was created. */
  readonly execution: number
  /** The waiting item. */
  readonly item: LsObject
}

/** Runs the job of an installation with a waiting item, calls `meanwhile` while it waits, and finishes the item. */
async function waitAndEnd(on: Lane, name: string, meanwhile: (found: Found) => Promise<void>): Promise<Course> {
  const { cluster, proxy } = on
  proxy.arm()
  const isWaiting = (one?: LsObject) => one?.status?.phase === 'Progressing' && one.status.jobID !== undefined
  const root = install(on, name, [waitingItem('slow')])
  const { metadata } = await cluster.waitUntil('installations', name, isWaiting, RESTART_MS)
  const items = await cluster.waitUntilItems(name, ['slow'], isWaiting, RESTART_MS)
  const created = proxy.writes.find(({ label }) => label === 'POST executions')
  const item = items.get('slow')!
  await meanwhile({ uid: metadata.uid ?? '', execution: Number(created?.answer.metadata.resourceVersion), item })
  await cluster.finishItem(item, 'Succeeded')
  return await root
}

/** Runs the job or the deletion. Kills the process before the first statement of this kind commits, and restarts it. */
async function killedAt(
  part: 'worker' | 'bridge',
  statement: RawBuilder<unknown>,
  half: () => Promise<Course>,
): Promise<{ readonly course: Course; readonly checkpoint: number }> {
  const { pawl, proxy } = lane
  proxy.arm()
  const locked = await pawl.db.connection().execute(async (held) => {
    await sql`select pg_advisory_lock(${LOCK})`.execute(held)
    await sql`create trigger wait before ${statement} for each row execute function wait_for_test()`.execute(pawl.db)
    try {
      const course = half()
      const reached = vi.waitFor(async () => expect(await waiting()).toBeGreaterThan(0), PATIENT).then(() => 'waits')
      expect(await Promise.race([reached, course.then(() => 'is over')])).toBe('waits')
      await pawl.kill(part)
      return { course }
    } finally {
      // The waiting statements continue, or PostgreSQL ends them with their connection.
      await sql`select pg_advisory_unlock(${LOCK})`.execute(held)
      await sql`drop trigger wait on ${sql.raw(await triggered())}`.execute(pawl.db)
    }
  })
  const left = await checkpoint()
  await (part === 'worker' ? pawl.startWorker() : pawl.startBridge())
  return { course: await locked.course, checkpoint: left }
}

const PATIENT = { timeout: RESTART_MS, interval: 20 }

/** The number of sessions that wait for the test's lock. */
async function waiting(): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from pg_locks
    where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`.execute(
    lane.pawl.db,
  )
  return rows[0]?.count ?? 0
}

/** The name of the table with the trigger. */
async function triggered(): Promise<string> {
  const { rows } = await sql<{ name: string }>`
    select tgrelid::regclass::text as name from pg_trigger where tgname = 'wait' and tgparentid = 0`.execute(
    lane.pawl.db,
  )
  return rows[0]?.name ?? ''
}

/** The resourceVersion in the checkpoint of Installations. */
async function checkpoint(): Promise<number> {
  const { resource_version } = await lane.pawl.db
    .selectFrom('watch_checkpoint')
    .select('resource_version')
    .where('kind', '=', 'Installation')
    .executeTakeFirstOrThrow()
  return resource_version ?? 0
}
