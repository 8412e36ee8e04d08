// The resync of a worker, from its start: against a real PostgreSQL and a real Temporal.

import { sql } from 'kysely'
import { expect, inject, it } from 'vitest'
import { createRegistry } from '../../worker/server/registry.ts'
import { type ResyncDeps, type ResyncOptions, runResync } from '../../worker/reconciler/resync.ts'
import { defineLevel, nop } from '../../workflows/kit/index.ts'
import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'
import { useJournal } from '../activities/journal/use-journal.ts'
import { journalObjects, levelRegistry, now, silentLog, useTemporal } from './dispatch-stage.ts'

const test = useJournal(inject('servers').databaseUrl)
const temporal = useTemporal()

/** Runs the resync while the test acts. */
async function resyncDuring(deps: Partial<ResyncDeps>, options: Partial<ResyncOptions>, act: () => Promise<void>) {
  const stop = new AbortController()
  const running = runResync(
    { db: test.db, client: temporal(), now, log: silentLog, ...deps },
    { cluster: 'c', taskQueue: 'q', controllers: undefined, everyMs: 20, ...options },
    stop.signal,
  )
  await act()
  stop.abort()
  await running
}

it('the resync wakes objects when a worker starts, and retries the wakes that failed at each sweep', async () => {
  const { apiVersion, kind } = deployItemKind
  const target = { apiVersion, kind, plural: 'deployitems' }
  const level = (name: string) => defineLevel({ name, target, queries: {}, plan: nop })
  await journalObjects(test, [{ uid: 'a', version: 1, status: { jobID: 'j' } }])
  // An error that affects only one controller.
  await sql`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`.execute(
    test.db,
  )
  await sql`
    create trigger refuse before insert on wake for each row when (new.controller = 'shop') execute function refuse()`.execute(
    test.db,
  )
  const woken = async () => (await test.wakes()).map(({ controller }) => controller).toSorted()
  await resyncDuring({ registry: createRegistry([level('shop'), level('till')]) }, {}, async () => {
    await expect.poll(woken).toEqual(['deploy', 'till'])
    await sql`drop trigger refuse on wake`.execute(test.db)
    await expect.poll(woken).toEqual(['deploy', 'shop', 'till'])
  })
})

it('the resync wakes the objects of controllers in level mode again at once after a clock was set', async () => {
  await journalObjects(test, [{ uid: 'a', version: 1 }])
  let clockSet: () => void = () => undefined
  const onClockStep = (listener: () => void) => (clockSet = listener)
  const causes = async () => (await test.wakes()).map(({ cause }) => cause)
  // The interval is so long that no second sweep starts.
  const once = { controllers: ['shop'], everyMs: 3_600_000 }
  await resyncDuring({ registry: levelRegistry, onClockStep }, once, async () => {
    await expect.poll(causes).toEqual(['a worker started'])
    await test.db.deleteFrom('wake').execute()
    clockSet()
    await expect.poll(causes).toEqual(['a clock was set'])
  })
})
