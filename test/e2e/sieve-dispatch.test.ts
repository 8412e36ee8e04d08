// Tests a process that is killed between two commits in different systems: the dispatcher between journal and Temporal,
// the bridge between API server and journal (Sieve's "intermediate state"). The result equals that of an undisturbed
// run, with the same number of creations, deletions and triggers. A statement of the process waits for a lock of the
// test; meanwhile the test kills the process. Source: spec/engine.md 4.2; docs/faults.md.

import { type RawBuilder, sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { type Course, install, runBoth, uninstall, withoutSettles } from '../support/faults/course.ts'
import { closeLane, type Lane, openLane, RESTART_MS, runUndisturbed } from '../support/faults/lane.ts'
import { sampleOf } from '../support/matrix/form.ts'

const servers = inject('servers')

// A process may take many seconds to start on a busy machine.
const LIMIT_MS = 240_000
const LOCK = 4711

let lane: Lane
let expected: readonly Course[]

beforeAll(async () => {
  expected = await runUndisturbed('dispatch', servers, (own) => runBoth(own, 'undisturbed'))
  lane = await openLane('dispatch', servers)
  await sql`create function wait_for_test() returns trigger language plpgsql as $$ begin
    perform pg_advisory_xact_lock(${sql.lit(LOCK)});
    return coalesce(new, old);
  end $$`.execute(lane.pawl.db)
}, LIMIT_MS)
afterEach(() => {
  lane.bridgeProxy.reads = {}
})
afterAll(() => closeLane(lane))

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
      expect([job, deletion].map(({ course }) => course).map(withoutSettles)).toEqual(expected.map(withoutSettles))
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
    expect([job, deletion].map(withoutSettles)).toEqual(expected.map(withoutSettles))
  })
})

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
