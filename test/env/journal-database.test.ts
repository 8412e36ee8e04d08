// A process that stops during a transaction of the journal, against a real PostgreSQL.

import { sql } from 'kysely'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, inject, it } from 'vitest'
import { openDatabase } from '../../activities/journal/database.ts'
import { openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)

describe('a process that stops during a transaction', () => {
  it('loses its row locks, and gets an error when it continues', async () => {
    await openJob(test.db, {
      workflow_id: 'task/u1/j1',
      run_id: 'r',
      controller: 'task',
      cluster: 'c',
      uid: 'u1',
      job_id: 'j1',
      namespace: 'ns',
      name: 'n',
      cause: 'test',
      started_at: new Date(),
    })
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
    const { phase } = await test.db.selectFrom('job').select('phase').executeTakeFirstOrThrow()
    expect(phase).toBe('taken over')
    // The pool opens another connection.
    await phaseBy('again').execute(stopped)
    await stopped.destroy()
  })
})
