// The resync of a worker, from its start: against a real PostgreSQL and a real Temporal.

import { Client } from '@temporalio/client'
import { NativeConnection } from '@temporalio/worker'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { journalEvents } from '../../activities/journal/write/events.ts'
import { createLogger } from '../../worker/server/log.ts'
import { createRegistry } from '../../worker/server/registry.ts'
import { runResync } from '../../worker/reconciler/resync.ts'
import { defineLevel, nop } from '../../workflows/kit/index.ts'
import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'
import { deps, seen } from '../activities/journal/build-events.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)
let connection: NativeConnection
beforeAll(async () => {
  connection = await NativeConnection.connect({ address: inject('servers').temporalAddress })
})
afterAll(async () => {
  await connection.close()
})

const { apiVersion, kind } = deployItemKind
const target = { apiVersion, kind, plural: 'deployitems' }
const spec = { type: 'landscaper.gardener.cloud/mock' }
const level = (name: string) => defineLevel({ name, target, queries: {}, plan: nop })

/** Makes the journal reject the wakes of one controller. This represents any error that affects only one controller. */
async function refuseWakesOf(controller: string): Promise<void> {
  await sql`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`.execute(
    test.db,
  )
  await sql`
    create trigger refuse before insert on wake for each row when (new.controller = ${sql.lit(controller)})
    execute function refuse()`.execute(test.db)
}

it('the resync wakes objects when a worker starts, and retries the wakes that failed at each sweep', async () => {
  const event = seen('ADDED', { uid: 'a', version: 1, spec, status: { jobID: 'j' } }, deployItemKind)
  const routing = { ...deps, route: () => ({ ignored: 'set-up' }) }
  await journalEvents(test.db, { cluster: 'c', source: 'watch', events: [event] }, routing)
  await refuseWakesOf('shop')
  const stop = new AbortController()
  const running = runResync(
    {
      db: test.db,
      client: new Client({ connection }),
      now: () => new Date(),
      log: createLogger('test', 'silent'),
      registry: createRegistry([level('shop'), level('till')]),
    },
    { cluster: 'c', taskQueue: 'q', controllers: undefined, everyMs: 20 },
    stop.signal,
  )
  const woken = async () => (await test.wakes()).map(({ controller }) => controller).toSorted()
  await expect.poll(woken).toEqual(['deploy', 'till'])
  await sql`drop trigger refuse on wake`.execute(test.db)
  await expect.poll(woken).toEqual(['deploy', 'shop', 'till'])
  stop.abort()
  await running
})

it('the resync wakes the objects of controllers in level mode again at once after a clock was set', async () => {
  const event = seen('ADDED', { uid: 'a', version: 1, spec }, deployItemKind)
  const routing = { ...deps, route: () => ({ ignored: 'set-up' }) }
  await journalEvents(test.db, { cluster: 'c', source: 'watch', events: [event] }, routing)
  const stop = new AbortController()
  let clockSet: () => void = () => undefined
  const running = runResync(
    {
      db: test.db,
      client: new Client({ connection }),
      now: () => new Date(),
      log: createLogger('test', 'silent'),
      registry: createRegistry([level('shop')]),
      onClockStep: (listener) => (clockSet = listener),
    },
    // The interval is so long that no second sweep starts.
    { cluster: 'c', taskQueue: 'q', controllers: ['shop'], everyMs: 3_600_000 },
    stop.signal,
  )
  const causes = async () => (await test.wakes()).map(({ cause }) => cause)
  await expect.poll(causes).toEqual(['a worker started'])
  await test.db.deleteFrom('wake').execute()
  clockSet()
  await expect.poll(causes).toEqual(['a clock was set'])
  stop.abort()
  await running
})
