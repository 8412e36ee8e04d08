// The check of stuck runs by a worker: what it does depends on the state of the run in Temporal. The journal is a real
// PostgreSQL, Temporal is a fake.

import type { Client } from '@temporalio/client'
import { sql } from 'kysely'
import { beforeEach, describe, expect, inject, it, vi } from 'vitest'

import { journalEvents } from '../../activities/journal/write/events.ts'
import { recordStuckRun, type StuckRunReport } from '../../activities/journal/write/stuck-runs.ts'
import { StuckRuns } from '../../worker/reconciler/stuck-runs.ts'
import type { ReportedBug } from '../../workflows/kit/index.ts'
import { builtInRegistry } from '../../worker/server/registry.ts'
import { deps, later, NOW, seen } from '../activities/journal/build-events.ts'
import { job } from '../activities/journal/build-job.ts'
import { findOpenJob, openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)
const row = job({ controller: 'installation', workflow_id: 'installation/ns/n/u1/j1' })
beforeEach(async () => {
  await sql`delete from stuck_run`.execute(test.db)
  await openJob(test.db, row)
  await note()
})

async function note(overrides: Partial<StuckRunReport> = {}, now = NOW): Promise<void> {
  const misfit = { runID: 'r1', reason: 'misfit', build: 'old', message: 'no such step' } as const
  await recordStuckRun(test.db, { workflowID: row.workflow_id, ...misfit, ...overrides }, now)
}

/**
 * Runs one check while Temporal reports this status. @returns the terminated runs, the Events, and whether the record
 * still exists.
 */
async function looked(status: string, attempt: number, now: Date) {
  const { ended, posted, isNoted } = await worker(status, attempt)(now)
  return { ended, posted, isNoted }
}

/** Returns a function that runs one check of a worker at the given time. */
function worker(status: string, attempt: number) {
  let now = NOW
  const ended: string[] = []
  const reasons: string[] = []
  const getHandle = (workflowID: string, runID: string) => ({
    describe: () => Promise.resolve({ status: { name: status }, raw: { pendingWorkflowTask: { attempt } } }),
    terminate(why: string) {
      reasons.push(why)
      return Promise.resolve(ended.push(`${workflowID} ${runID}`))
    },
  })
  const client = { workflow: { getHandle } } as unknown as Client
  const posted: string[] = []
  let version = 6
  const request = (method: string, path: string) => {
    if (method === 'GET') return Promise.resolve({ metadata: { uid: 'u1', resourceVersion: `${version}` }, status: {} })
    posted.push(`${method} ${path}`)
    return Promise.resolve({ metadata: { resourceVersion: `${++version}` }, status: { conditions: [{}] } })
  }
  const kube = { request } as never
  const log = { warn: vi.fn(), info: vi.fn(), debug: vi.fn(), error: vi.fn() } as never
  const workerDeps = { db: test.db, kube, client, log, now: () => now, registry: builtInRegistry }
  const stuckRuns = new StuckRuns(workerDeps, { cluster: 'c', controllers: undefined, build: 'new' })
  const threw = (thrown: ReportedBug) =>
    void stuckRuns.sinks().runs.threw.fn({ workflowId: row.workflow_id, runId: 'r1' } as never, thrown)
  const look = async (at: Date) => {
    now = at
    const stopping = new AbortController()
    const running = stuckRuns.run(stopping.signal)
    stopping.abort()
    await running
    const notes = (await sql`select 1 from stuck_run`.execute(test.db)).rows
    return { ended, posted, reasons, isNoted: notes.length > 0 }
  }
  return Object.assign(look, { threw, posted })
}

describe('a run that was recorded as stuck', () => {
  it('is terminated when its workflow task fails; its subject is woken and gets an Event', async () => {
    expect(await looked('RUNNING', 2, NOW)).toEqual({
      ended: [`${row.workflow_id} r1`],
      posted: ['POST /api/v1/namespaces/ns/events'],
      isNoted: false,
    })
    expect(await findOpenJob(test.db, 'installation', 'u1')).toBeUndefined()
    expect(await test.wakes()).toMatchObject([
      { uid: 'u1', may_start: true, cause: 'its run was started by other code' },
    ])
  })

  it('is left running while its workflow task may succeed, and loses its record after it has continued', async () => {
    const untouched = { ended: [], posted: [] }
    expect(await looked('RUNNING', 1, later(1000))).toEqual({ ...untouched, isNoted: true })
    expect(await looked('RUNNING', 1, later(16_000))).toEqual({ ...untouched, isNoted: false })
    expect(await findOpenJob(test.db, 'installation', 'u1')).toMatchObject({ restarts: 0 })
  })

  it('loses its record when it has ended', async () => {
    expect(await looked('COMPLETED', 0, NOW)).toEqual({ ended: [], posted: [], isNoted: false })
  })
})

describe('a run that met a bug', () => {
  const bug = (runID: string, now: Date, build = 'old') =>
    note({ reason: 'bug', runID, build, message: 'no found' }, now)

  it('is restarted at once by a worker with other code, and with growing delays when that code has the bug too', async () => {
    await bug('r1', NOW)
    const look = worker('RUNNING', 2)
    const { ended, reasons, posted } = await look(NOW)
    expect(ended).toEqual([`${row.workflow_id} r1`])
    // The termination reason in Temporal omits the error message, which may quote an object.
    expect(reasons).toEqual(['restarting a run that failed with a bug of other code'])
    expect(posted).toEqual([])
    for (const [runID, sinceMs, pauseMs] of [
      ['r2', 0, 20_000],
      ['r3', 20_000, 40_000],
      ['r4', 60_000, 80_000],
    ] as const) {
      await openJob(test.db, { ...row, run_id: runID })
      await bug(runID, later(sinceMs))
      expect((await look(later(sinceMs + pauseMs - 1))).ended).not.toContain(`${row.workflow_id} ${runID}`)
      expect((await look(later(sinceMs + pauseMs))).ended).toContain(`${row.workflow_id} ${runID}`)
    }
  })

  it('is restarted when its object has changed, and the termination reason says so', async () => {
    await bug('r1', NOW, 'new')
    const events = [seen('ADDED', { uid: 'u1', version: 2 })]
    const changed = { ...deps, now: () => later(5), route: () => ({ ignored: 'set-up' }) }
    await journalEvents(test.db, { cluster: 'c', source: 'watch', events }, changed)
    const { reasons } = await worker('RUNNING', 2)(later(6))
    expect(reasons).toEqual(['restarting a run that failed with a bug, because its object has changed'])
  })
})

describe('a run that meets a bug', () => {
  const INSTALLATION = { group: 'landscaper.gardener.cloud', kind: 'Installation', namespace: 'n', name: 'tree' }
  const changed = async (version: number, at: Date) => {
    const events = [seen('MODIFIED', { uid: 'u1', version })]
    const later = { ...deps, now: () => at, route: () => ({ ignored: 'set-up' }) }
    await journalEvents(test.db, { cluster: 'c', source: 'watch', events }, later)
  }

  it('is not restarted for the report in the status of its object, but for the next change', async () => {
    await sql`delete from stuck_run`.execute(test.db)
    const look = worker('RUNNING', 2)
    const thrown = { isReplaying: false, name: 'TypeError', message: 'no', stack: '' }
    look.threw({ subject: { ...INSTALLATION, uid: 'u1' }, jobID: 'j1', ...thrown })
    const status = '/apis/landscaper.gardener.cloud/v1alpha1/namespaces/n/installations/tree/status'
    await expect.poll(() => look.posted).toEqual([`PATCH ${status}`, 'POST /api/v1/namespaces/n/events'])
    await changed(7, later(5))
    expect((await look(later(6))).ended).toEqual([])
    await changed(8, later(7))
    expect((await look(later(8))).ended).toEqual([`${row.workflow_id} r1`])
  })

  it('is reported as a problem without the error message', async () => {
    const listed: string[] = []
    const recordProblem = (description: string) => Promise.resolve(void listed.push(description))
    const kube = { request: () => Promise.resolve({}) } as never
    const log = { warn: vi.fn(), info: vi.fn(), debug: vi.fn(), error: vi.fn() } as never
    const client = {} as unknown as Client
    const deps = { db: test.db, kube, client, log, recordProblem, now: () => NOW, registry: builtInRegistry }
    const { threw } = new StuckRuns(deps, { cluster: 'c', controllers: undefined, build: 'new' }).sinks().runs
    const subject = { group: 'landscaper.gardener.cloud', kind: 'Installation', uid: 'u', namespace: 'n', name: 'tree' }
    const thrown = { subject, jobID: 'j', isReplaying: false, name: 'Error', message: 'hunter2', stack: '' }
    void threw.fn({ workflowId: 'installation/n/tree/u/j', runId: 'run' } as never, thrown)
    await expect.poll(() => listed).toEqual(['installation n/tree: Error'])
  })
})
