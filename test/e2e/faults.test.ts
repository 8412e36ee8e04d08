// Whatever Pawl depends on fails while a job and a deletion run: the journal, the API server, the watches, Temporal. What comes out is
// what comes out of an undisturbed run, object by object, and no creation, deletion or trigger happened twice.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { choosePorts } from '../../worker/dev/ports.ts'
import { startTemporal } from '../../worker/dev/temporal.ts'
import type { Disturb, Disturbance } from '../support/api-proxy.ts'
import {
  closeLane,
  type Course,
  type Lane,
  openLane,
  runBoth,
  undisturbedOn,
  withoutSettles,
} from '../support/crash.ts'
import { TEST_APPLICATION } from '../support/pawl.ts'
import { PATIENT_TASKS } from '../support/stage.ts'

const servers = inject('servers')

// On a busy machine a process takes many seconds to start, and a course that is disturbed some more.
const LIMIT_MS = 240_000

let lane: Lane
let expected: readonly Course[]

beforeAll(async () => {
  expected = await undisturbedOn('faults', servers, (own) => runBoth(own, 'undisturbed'))
  // No worker is killed here: a task that is lost would only add refused writes.
  lane = await openLane('faults', servers, { workerFlags: PATIENT_TASKS })
}, LIMIT_MS)
afterAll(() => closeLane(lane))

describe('an installation whose journal', { timeout: LIMIT_MS }, () => {
  it('loses all its connections at every fourth write ends like any other', async () => {
    const ended: number[] = []
    const disturb: Disturb = async (_label, nth) => {
      if (nth % 4 === 0) ended.push(await endConnections(lane))
      return undefined
    }
    expect(await runBoth(lane, 'journal', disturb)).toEqual(expected)
    expect(ended.length).toBeGreaterThan(3)
    expect(Math.min(...ended)).toBeGreaterThan(0)
  })

  it('S8: delivers every wake twice ends like any other', async () => {
    // Every acknowledged wake comes back once, as one that nobody may suppress.
    await sql`create sequence again`.execute(lane.pawl.db)
    await sql`create function deliver_again() returns trigger language plpgsql as $$ begin
      insert into wake select (jsonb_populate_record(old, '{"cause": "again", "foreign_event": true, "may_start": true,
        "lease_owner": null, "lease_until": null, "next_due": null, "next_foreign_event": null, "next_may_start": null}')).*
      on conflict do nothing;
      perform pg_notify('pawl_wake', ''), nextval('again');
      return null;
    end $$`.execute(lane.pawl.db)
    await sql`create trigger again after delete on wake for each row when (old.cause <> 'again') execute function deliver_again()`.execute(
      lane.pawl.db,
    )
    try {
      expect(await runBoth(lane, 'twice')).toEqual(expected)
      const { rows } = await sql<{ count: number }>`select last_value as count from again`.execute(lane.pawl.db)
      // Of the creation and of the deletion: what a run writes makes no wakes.
      expect(rows[0]?.count).toBeGreaterThanOrEqual(2)
    } finally {
      await sql`drop trigger again on wake`.execute(lane.pawl.db)
    }
  })
})

describe('an installation whose API server', { timeout: LIMIT_MS }, () => {
  const DISTURBANCES: readonly Disturbance[] = [
    { status: 500, reason: 'InternalError' },
    { status: 429, reason: 'TooManyRequests', retryAfterSeconds: 1 },
    'lost before',
    'lost after',
  ]

  it('T10: fails every third write in one way or another ends like any other', async () => {
    let failed = 0
    const disturb: Disturb = (_label, nth) => (nth % 3 === 0 ? DISTURBANCES[failed++ % DISTURBANCES.length] : undefined)
    const courses = await runBoth(lane, 'refusing', disturb)
    expect(courses.map(withoutSettles)).toEqual(expected.map(withoutSettles))
    expect(failed).toBeGreaterThan(4)
  })

  it('cuts its watches again and again ends like any other', async () => {
    let cuts = 0
    const disturb: Disturb = () => {
      cuts += lane.bridgeProxy.cutWatches()
      return undefined
    }
    expect(await runBoth(lane, 'unwatched', disturb)).toEqual(expected)
    expect(cuts).toBeGreaterThan(5)
  })
})

describe('an installation whose Temporal', { timeout: LIMIT_MS }, () => {
  it('T2: is restarted in the middle of its job and of its deletion ends like any other', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'pawl-temporal-'))
    const ports = await choosePorts(join(dir, 'ports.json'), {})
    const options = { binary: servers.temporalBinary, dir, logDir: dir, ports, ephemeral: false }
    let temporal = await startTemporal(options)
    const own = await openLane('temporal', { ...servers, temporalAddress: temporal.spec.address ?? '' })
    try {
      let restarts = 0
      let restarting = Promise.resolve()
      const restart = async () => {
        await temporal.stop()
        temporal = await startTemporal(options)
      }
      // Both items are written at once: one restart for two. A batch may be repeated while its restart lasts.
      const disturb: Disturb = async (label) => {
        if ((label === 'POST deployitems' || label === 'DELETE deployitems') && restarts++ % 2 === 0) {
          restarting = restarting.then(restart)
          await restarting
        }
        return undefined
      }
      const courses = await runBoth(own, 'restarted', disturb)
      expect(courses.map(withoutSettles)).toEqual(expected.map(withoutSettles))
      // Two items in the job and two in the deletion; a batch that is repeated meets another restart.
      expect(restarts).toBeGreaterThanOrEqual(4)
    } finally {
      await closeLane(own)
      await temporal.stop()
      await rm(dir, { recursive: true })
    }
  })
})

/** Ends every connection of the lane's processes to its journal, from outside of it; returns how many, when they are gone. The test keeps its own. */
async function endConnections({ pawl }: Lane): Promise<number> {
  const admin = new pg.Client({ connectionString: servers.databaseUrl })
  await admin.connect()
  const { rows } = await admin.query<{ ended: boolean }>(
    `select pg_terminate_backend(pid, 5000) as ended from pg_stat_activity
     where datname = $1 and backend_type = 'client backend' and application_name <> $2`,
    [new URL(pawl.databaseUrl).pathname.slice(1), TEST_APPLICATION],
  )
  await admin.end()
  return rows.filter(({ ended }) => ended).length
}
