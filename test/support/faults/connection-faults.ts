// Faults between Pawl and its journal that leave PostgreSQL itself healthy: lost connections, and wakes that are delivered twice; and repeated signals.

import { sql } from 'kysely'
import pg from 'pg'
import { expect } from 'vitest'
import { TEST_APPLICATION } from '../pawl/pawl.ts'
import type { Fault } from './fault.ts'
import type { Lane } from './lane.ts'

/** @param adminUrl of the PostgreSQL server. */
export function journalFaults(adminUrl: string): readonly Fault[] {
  return [
    {
      title: 'loses all its connections at every fourth write',
      least: 4,
      start: (lane, struck) => ({
        disturb: async (_label, nth) => {
          if (nth % 4 !== 0) return undefined
          expect(await endConnections(adminUrl, lane)).toBeGreaterThan(0)
          struck()
          return undefined
        },
      }),
    },
    // One wake for the creation and one for the deletion. The writes of a run make no wakes.
    { title: 'delivers every wake twice', least: 2, start: deliverTwice },
    {
      title: 'sends two more signals to each run at each kind of write',
      least: 11,
      start: (lane, struck) => {
        const seen = new Set<string>()
        return {
          // A signal makes Temporal reject the completion of the workflow task, and the worker repeats all writes of the task. So only the first write of
          // each kind sends signals.
          disturb: async (label) => {
            if (!seen.has(label)) struck(await signalOpenRuns(lane))
            seen.add(label)
            return undefined
          },
        }
      },
    },
  ]
}

/** Ends all connections of the lane's processes to the journal. @returns their number, after the server has ended them. */
async function endConnections(adminUrl: string, { pawl }: Lane): Promise<number> {
  const admin = new pg.Client({ connectionString: adminUrl })
  await admin.connect()
  const { rows } = await admin.query<{ ended: boolean }>(
    `select pg_terminate_backend(pid, 5000) as ended from pg_stat_activity
     where datname = $1 and backend_type = 'client backend' and application_name <> $2`,
    [new URL(pawl.databaseUrl).pathname.slice(1), TEST_APPLICATION],
  )
  await admin.end()
  return rows.filter(({ ended }) => ended).length
}

/** Inserts each acknowledged wake once more, as a wake that the dispatcher may not suppress. */
async function deliverTwice({ pawl: { db } }: Lane, struck: (times: number) => number) {
  await sql`create sequence again`.execute(db)
  await sql`create function deliver_again() returns trigger language plpgsql as $$ begin
    insert into wake select (jsonb_populate_record(old, '{"cause": "again", "foreign_event": true, "may_start": true,
      "lease_owner": null, "lease_until": null, "next_due": null, "next_foreign_event": null, "next_may_start": null}')).*
    on conflict do nothing;
    perform pg_notify('pawl_wake', ''), nextval('again');
    return null;
  end $$`.execute(db)
  await sql`create trigger again after delete on wake for each row when (old.cause <> 'again') execute function deliver_again()`.execute(
    db,
  )
  const stop = async () => {
    await sql`drop trigger again on wake`.execute(db)
    const { rows } = await sql<{ count: string }>`select last_value as count from again`.execute(db)
    struck(Number(rows[0]?.count))
  }
  return { stop }
}

/** Signals each open run twice. @returns the number of signals. */
export async function signalOpenRuns({ pawl: { db, client } }: Lane): Promise<number> {
  const open = await db.selectFrom('job').select('workflow_id').where('outcome', 'is', null).execute()
  const signals = open.flatMap(({ workflow_id }) =>
    [1, 2].map(async () => await client.workflow.getHandle(workflow_id).signal('wake', { seq: 0 })),
  )
  // A run may have ended.
  return (await Promise.allSettled(signals)).filter(({ status }) => status === 'fulfilled').length
}
