// What a worker does about a run that was noted as stuck, by what Temporal says of it; the journal is a real PostgreSQL, Temporal is made up.

import type { Client } from '@temporalio/client'
import { sql } from 'kysely'
import { beforeEach, describe, expect, inject, it, vi } from 'vitest'

import { noteStuckRun } from '../../activities/journal/write/stuck-runs.ts'
import { StuckRuns } from '../../worker/reconciler/stuck-runs.ts'
import { builtIn } from '../../worker/server/registry.ts'
import { later, NOW } from '../activities/journal/build-events.ts'
import { job } from '../activities/journal/build-job.ts'
import { findOpenJob, openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)
const row = job({ controller: 'installation', workflow_id: 'installation/ns/n/u1/j1' })
beforeEach(async () => {
  await sql`delete from stuck_run`.execute(test.db)
  await openJob(test.db, row)
  const note = {
    workflowID: row.workflow_id,
    runID: 'r1',
    what: 'misfit',
    build: 'old',
    message: 'no such step',
  } as const
  await noteStuckRun(test.db, note, NOW)
})

/** One look, when Temporal says so of the run. @returns the runs that were ended, and whether the note is left. */
async function looked(status: string, attempt: number, now: Date) {
  const ended: string[] = []
  const getHandle = (workflowID: string, runID: string) => ({
    describe: () => Promise.resolve({ status: { name: status }, raw: { pendingWorkflowTask: { attempt } } }),
    terminate: () => Promise.resolve(ended.push(`${workflowID} ${runID}`)),
  })
  const client = { workflow: { getHandle } } as unknown as Client
  const posted: string[] = []
  const kube = { request: (method: string, path: string) => Promise.resolve(posted.push(`${method} ${path}`)) } as never
  const log = { warn: vi.fn(), info: vi.fn(), debug: vi.fn(), error: vi.fn() } as never
  const deps = { db: test.db, kube, client, log, now: () => now, registry: builtIn }
  const stuckRuns = new StuckRuns(deps, { cluster: 'c', controllers: undefined, build: 'new' })
  const stopping = new AbortController()
  const running = stuckRuns.run(stopping.signal)
  stopping.abort()
  await running
  const notes = (await sql`select 1 from stuck_run`.execute(test.db)).rows
  return { ended, posted, isNoted: notes.length > 0 }
}

describe('a run that was noted as stuck', () => {
  it('is ended and its subject woken when its task fails, and the object is told', async () => {
    expect(await looked('RUNNING', 2, NOW)).toEqual({
      ...{ ended: [`${row.workflow_id} r1`], posted: ['POST /api/v1/namespaces/ns/events'], isNoted: false },
    })
    expect(await findOpenJob(test.db, 'installation', 'u1')).toBeUndefined()
    expect(await test.wakes()).toMatchObject([{ uid: 'u1', may_start: true, cause: 'its run was made by other code' }])
  })

  it('is left alone while its task may succeed, and is forgotten when it has gone on', async () => {
    const untouched = { ended: [], posted: [] }
    expect(await looked('RUNNING', 1, later(1000))).toEqual({ ...untouched, isNoted: true })
    expect(await looked('RUNNING', 1, later(16_000))).toEqual({ ...untouched, isNoted: false })
    expect(await findOpenJob(test.db, 'installation', 'u1')).toMatchObject({ restarts: 0 })
  })

  it('is forgotten when it has ended', async () => {
    expect(await looked('COMPLETED', 0, NOW)).toEqual({ ended: [], posted: [], isNoted: false })
  })
})
