// Journal connections on which PostgreSQL stops answering, and the clock of the journal; against a real PostgreSQL.

import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest'

import { type Database, openDatabase } from '../../activities/journal/database.ts'
import { WAKE_CHANNEL } from '../../activities/journal/write/wakes.ts'
import { listenForWakes } from '../../worker/reconciler/listener.ts'
import { createJournalClock } from '../../worker/server/clocks.ts'
import { job } from '../activities/journal/build-job.ts'
import { openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'
import { TcpProxy } from '../support/faults/tcp-proxy.ts'

const test = useJournal(inject('servers').databaseUrl)
const log = pino({ level: 'silent' })

let proxy: TcpProxy
beforeEach(async () => {
  proxy = await TcpProxy.to(Number(new URL(test.url).port))
})
afterEach(async () => {
  await proxy.stop()
})
function throughProxy(): string {
  const url = new URL(test.url)
  url.port = String(proxy.port)
  return url.href
}

describe('a connection to PostgreSQL', () => {
  const ask = async (db: Kysely<Database>, value: number) =>
    (await sql<{ n: number }>`select ${value}::int as n`.execute(db)).rows

  it.each<[string, string, (db: Kysely<Database>, silence: () => void) => Promise<unknown>]>([
    [
      'a query',
      'Query read timeout',
      async (db, silence) => {
        silence()
        return await ask(db, 2)
      },
    ],
    [
      'a transaction',
      '',
      async (db, silence) =>
        await db.transaction().execute(async (trx) => {
          await ask(trx, 2)
          silence()
          return await ask(trx, 2)
        }),
    ],
  ])('times out %s when the server stops answering; the next query uses another connection', async (_, error, act) => {
    const db = openDatabase(throughProxy(), 1, { answerMs: 1000 })
    await expect.poll(() => ask(db, 1).catch(String)).toEqual([{ n: 1 }])
    const failed = act(db, () => expect(proxy.fallSilent()).toBeGreaterThan(0))
    await expect(failed).rejects.toThrow(error)
    await expect.poll(() => ask(db, 3).catch(String)).toEqual([{ n: 3 }])
    await db.destroy()
  })

  it('is replaced by the wake listener when the server stops answering', async () => {
    const stop = new AbortController()
    let heard = 0
    const onWake = () => void (heard += 1)
    const listening = { databaseUrl: throughProxy(), onWake, log, pingEveryMs: 200, answerMs: 1000 }
    const end = listenForWakes(listening, stop.signal)
    /** Waits until the listener calls `onWake` after `what`. The listener also calls it after each reconnect. */
    const hearsAfter = async (what: () => unknown) => {
      const before = heard
      await what()
      await expect.poll(() => heard).toBeGreaterThan(before)
    }
    const notify = async () => await sql`select pg_notify(${WAKE_CHANNEL}, '')`.execute(test.db)
    await expect.poll(() => heard).toBeGreaterThan(0)
    await hearsAfter(notify)
    await hearsAfter(() => proxy.fallSilent())
    await hearsAfter(notify)
    stop.abort()
    await end
  })

  it('has no timeout for a query that waits for a free connection of the pool', async () => {
    const db = openDatabase(test.url, 1)
    await sql`select 1`.execute(db)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const asked = [1, 2].map(async () => await sql`select pg_sleep(0.2)`.execute(db))
    await new Promise(setImmediate)
    // Longer than the timeout of a new connection.
    vi.advanceTimersByTime(11_000)
    vi.useRealTimers()
    expect(await Promise.all(asked)).toHaveLength(2)
    await db.destroy()
  })

  it('cancels a statement that takes too long, and reports the statement timeout', async () => {
    const db = openDatabase(test.url, 1, { statementMs: 200 })
    await expect(sql`select pg_sleep(${30}::int)`.execute(db)).rejects.toThrow('statement timeout')
    await db.destroy()
  })

  it('of a process that stops during a transaction loses its row locks, and the process gets an error when it continues', async () => {
    await openJob(test.db, job())
    const stopped = openDatabase(test.url, 1, { idleTransactionMs: 200 })
    const phaseBy = (phase: string) => sql`update job set phase = ${phase} where workflow_id = 'task/u1/j1'`
    const transaction = stopped.transaction().execute(async (trx) => {
      await phaseBy('stopped').execute(trx)
      await sleep(1000)
      await phaseBy('late').execute(trx)
    })
    const refused = expect(transaction).rejects.toThrow(/terminat|not queryable/i)
    await sleep(50)
    await phaseBy('taken over').execute(test.db)
    await refused
    expect(await test.rows('job', 'phase')).toEqual([{ phase: 'taken over' }])
    // The pool opens another connection.
    await phaseBy('again').execute(stopped)
    await stopped.destroy()
  })
})

describe("the journal's clock", () => {
  it('follows the clock of the database, also when the clock of the machine is wrong or changes', async () => {
    let machine = Date.now() + 600_000
    const clock = createJournalClock(undefined, () => machine)
    expect(clock.now().getTime()).toBe(machine)
    await clock.read(test.db)
    machine -= 1_200_000
    const { rows } = await sql<{ at: Date }>`select clock_timestamp() as at`.execute(test.db)
    expect(Math.abs(clock.now().getTime() - rows[0]!.at.getTime())).toBeLessThan(60_000)
  })

  it('advances with the monotonic clock between two reads', async () => {
    let steady = 0
    const clock = createJournalClock(() => steady)
    await clock.read(test.db)
    const before = clock.now().getTime()
    steady += 5000
    expect(clock.now().getTime() - before).toBe(5000)
  })

  it('ignores answers of the database that took too long', async () => {
    let steady = 0
    let slowMs = 0
    const clock = createJournalClock(() => (steady += slowMs))
    await clock.read(test.db)
    const before = clock.now().getTime()
    slowMs = 1500
    await clock.read(test.db)
    slowMs = 0
    expect(clock.now().getTime() - before).toBe(steady)
  })
})
