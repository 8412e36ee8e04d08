// Restarts of stuck runs: the runs that may be restarted, and the workers that may restart them; against a real
// PostgreSQL.

import { sql } from 'kysely'
import { beforeEach, describe, expect, inject, it } from 'vitest'

import { journalEvents } from '../../activities/journal/write/events.ts'
import {
  claimRestart,
  forgetStuckRun,
  isRecordedStuck,
  recordStuckRun,
  SPACING_MS,
  type StuckRunReport,
  stuckRuns,
} from '../../activities/journal/write/stuck-runs.ts'
import { recordLostJob } from '../../activities/journal/write/resync.ts'
import { deps, later, NOW, seen } from '../activities/journal/build-events.ts'
import { job } from '../activities/journal/build-job.ts'
import { endJob, findOpenJob, openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)
beforeEach(async () => {
  await sql`delete from stuck_run`.execute(test.db)
  await openJob(test.db, job())
})

const note = (overrides: Partial<StuckRunReport> = {}): StuckRunReport => ({
  workflowID: 'task/u1/j1',
  runID: 'r1',
  reason: 'misfit',
  build: 'old',
  message: 'no such step',
  ...overrides,
})
const found = async (build = 'new', now = NOW, controllers = ['task'], cluster = 'c') => {
  const runs = await stuckRuns(test.db, { cluster, controllers, build }, now)
  return runs.map(({ job: { workflow_id }, reason }) => `${workflow_id} ${reason}`)
}

describe('a record of a stuck run', () => {
  it('is new once, and keeps its time until its message changes', async () => {
    const noted = async (now: Date, overrides?: Partial<StuckRunReport>) =>
      await recordStuckRun(test.db, note(overrides), now)
    expect([await noted(NOW), await noted(later(1)), await noted(later(2), { message: 'another' })]).toEqual([
      true,
      false,
      true,
    ])
    const [run] = await stuckRuns(test.db, { cluster: 'c', controllers: ['task'], build: 'new' }, later(3))
    expect(run).toMatchObject({ message: 'another', at: later(2), runID: 'r1' })
  })

  it('disappears when its run ends', async () => {
    await recordStuckRun(test.db, note(), NOW)
    await endJob(test.db, 'task/u1/j1', NOW)
    expect(await found('new', later(SPACING_MS + 1))).toEqual([])
    expect(await isRecordedStuck(test.db, { workflowID: 'task/u1/j1', runID: 'r1' })).toBe(false)
  })

  it('is not deleted together with the record of the previous run', async () => {
    await recordStuckRun(test.db, note({ runID: 'r2' }), NOW)
    const open = (await findOpenJob(test.db, 'task', 'u1'))!
    await forgetStuckRun(test.db, { job: open, runID: 'r1' })
    expect(await isRecordedStuck(test.db, { workflowID: 'task/u1/j1', runID: 'r2' })).toBe(true)
  })
})

describe('a record of a stuck run when its workflow ID has two runs, as in level mode', () => {
  const workflowID = 'task/u1/j1'
  const notes = async () => (await sql`select run_id from stuck_run`.execute(test.db)).rows

  it('does not apply to a newer run in the job row, and is deleted at the next query', async () => {
    await recordStuckRun(test.db, note({ reason: 'bug', build: 'new' }), NOW)
    await endJob(test.db, workflowID, NOW)
    await openJob(test.db, job({ run_id: 'r2' }))
    expect(await isRecordedStuck(test.db, { workflowID, runID: 'r1' })).toBe(true)
    expect(await isRecordedStuck(test.db, { workflowID, runID: 'r2' })).toBe(false)
    expect([await found('old'), await notes()]).toEqual([[], []])
  })

  it('stays when its run is newer than the run in the job row, after a continue-as-new', async () => {
    await recordStuckRun(test.db, note({ reason: 'bug', runID: 'r2' }), NOW)
    expect(await found('new')).toEqual(['task/u1/j1 bug'])
    expect(await notes()).toEqual([{ run_id: 'r2' }])
  })
})

describe('a non-replayable run', () => {
  it('may be restarted by workers of any build that serve its cluster and its controller', async () => {
    await recordStuckRun(test.db, note(), NOW)
    expect([await found('old'), await found('new')]).toEqual([['task/u1/j1 misfit'], ['task/u1/j1 misfit']])
    expect([await found('new', NOW, ['other']), await found('new', NOW, ['task'], 'd')]).toEqual([[], []])
  })

  it('is restarted by one worker, and not again before the minimum delay; the job counts its restarts', async () => {
    await recordStuckRun(test.db, note(), NOW)
    const claims = await Promise.all([1, 2, 3].map(() => claimRestart(test.db, 'task/u1/j1', NOW)))
    expect(claims.filter(Boolean)).toHaveLength(1)
    const lost = (await findOpenJob(test.db, 'task', 'u1'))!
    await recordLostJob(test.db, lost, NOW, { cause: 'its run was made by other code' })
    expect(await test.wakes()).toMatchObject([{ uid: 'u1', may_start: true, cause: 'its run was made by other code' }])
    await openJob(test.db, job({ run_id: 'r2' }))
    await recordStuckRun(test.db, note({ runID: 'r2' }), NOW)
    expect(await found('new', later(SPACING_MS - 1))).toEqual([])
    expect(await found('new', later(SPACING_MS))).toEqual(['task/u1/j1 misfit'])
    expect(await findOpenJob(test.db, 'task', 'u1')).toMatchObject({ restarts: 1, restarted_at: NOW, run_id: 'r2' })
  })
})

describe('a run that met a bug', () => {
  beforeEach(async () => {
    await recordStuckRun(test.db, note({ reason: 'bug' }), NOW)
  })

  it('is not restarted by the build that has the bug', async () => {
    expect([await found('old'), await found('new')]).toEqual([[], ['task/u1/j1 bug']])
  })

  it('is restarted with growing delays also by another build, when that build has restarted it before', async () => {
    await sql`update job set restarts = 3, restarted_at = ${NOW}`.execute(test.db)
    const query = { cluster: 'c', controllers: ['task'], build: 'new' }
    const foundBy = async (helped: string[], now: Date) =>
      (await stuckRuns(test.db, { ...query, helpedBefore: helped }, now)).map(({ reason }) => reason)
    // A worker with new code, which may be free of the bug, waits only for the minimum delay (S3).
    expect([await foundBy([], later(SPACING_MS - 1)), await foundBy(['another'], later(SPACING_MS))]).toEqual([
      [],
      ['bug'],
    ])
    const helped = ['task/u1/j1']
    expect([await foundBy(helped, later(79_999)), await foundBy(helped, later(80_000))]).toEqual([[], ['bug']])
  })

  it('may be restarted by the same build when its object has changed', async () => {
    const events = [seen('ADDED', { uid: 'u1', version: 2 })]
    const changed = { ...deps, now: () => later(5), route: () => ({ ignored: 'set-up' }) }
    await journalEvents(test.db, { cluster: 'c', source: 'watch', events }, changed)
    expect(await found('old', later(6))).toEqual(['task/u1/j1 bug'])
    // The delay grows, because the pass itself may change its object.
    await sql`update job set restarts = 3, restarted_at = ${NOW}`.execute(test.db)
    expect([await found('old', later(79_999)), await found('old', later(80_000))]).toEqual([[], ['task/u1/j1 bug']])
  })
})
