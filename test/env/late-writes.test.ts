// Writes that a run sends after its job has ended: the fence blocks some of them. Against an API server that the test controls, and a real journal.
// Source: activities/journal/write/actions.ts, A3.

import { pino } from 'pino'
import { beforeEach, describe, expect, inject, it } from 'vitest'

import { recordObservation } from '../../activities/kube/read-family.ts'
import { statusActivities } from '../../activities/run/settle.ts'
import { type Write, writeAll } from '../../activities/kube/write.ts'
import { endJob, openJob } from '../activities/journal/one-row.ts'
import { at, execution, JOB, PATH, phase, SETTLE, useExecutionStage, WRITER } from './execution-stage.ts'

const stage = useExecutionStage(inject('servers').databaseUrl)
const { statusOf, actions, events } = stage

// A worker that was stopped in the middle of a pass continues there, and reads objects that later jobs have changed.
describe('a run whose job has ended', () => {
  const over = async (run_id: string | null = WRITER.runID) => {
    await openJob(stage.db, { ...JOB, run_id })
    await endJob(stage.db, WRITER.workflowID, stage.deps.now())
  }
  const patched = (verdict: 'done' | 'superseded' | { status: { phase: string } }): Write => ({
    verb: 'patchStatus',
    ...at,
    version: stage.api.objects.get(PATH)?.metadata.resourceVersion ?? '',
    patch: phase('ours'),
    reapply: () => verdict,
  })
  const removed: Write = { verb: 'delete', ...at, uid: 'uid-exec', version: undefined }
  const created: Write = { verb: 'create', ...at, body: execution(), isOurs: () => true }

  beforeEach(() => void stage.api.put(PATH, execution({ phase: 'theirs' })))

  it.each([
    ['a patch', () => patched(phase('again')), { result: 'superseded' }],
    ['a patch that changes nothing', () => patched('done'), { result: 'ok', wrote: false }],
    ['a deletion', () => removed, { result: 'superseded' }],
    ['a creation of an existing object', () => created, { result: 'ok', wrote: false }],
  ] as const)('writes nothing: %s', async (_, write, expected) => {
    await over()
    expect(await writeAll(stage.deps, WRITER, [write()])).toMatchObject([expected])
    expect(stage.api.requests).toEqual(['GET executions/exec'])
    expect(statusOf()).toEqual({ phase: 'theirs' })
    expect(await actions()).toEqual([])
    expect(await events()).toEqual([])
  })

  it('reports objects that do not exist as gone', async () => {
    await over()
    stage.api.objects.clear()
    expect(await writeAll(stage.deps, WRITER, [created, removed])).toEqual([{ result: 'gone' }, { result: 'gone' }])
    expect(stage.api.objects.size).toBe(0)
  })

  // A signal can void a workflow task that has already ended the job. The task then runs again from its start, which is not an error.
  it.each([
    ['logs a warning if the fence blocks a write', () => patched(phase('again')), 'warn'],
    ['logs a warning if the fence blocks a creation', () => ({ ...created, name: 'gone' }), 'warn'],
    ['logs at level info if its write is already done', () => patched('done'), 'info'],
    ['logs at level info if the field belongs to another job', () => patched('superseded'), 'info'],
    ['logs at level info if the object does not exist', () => ({ ...patched(phase('again')), name: 'gone' }), 'info'],
  ] as const)('%s', async (_, write, level) => {
    await over()
    const lines: string[] = []
    const log = pino({ level: 'info' }, { write: (line) => lines.push(line) })
    await writeAll({ ...stage.deps, log }, WRITER, [write()])
    const { workflowID, pass, step } = WRITER
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { level: pino.levels.values[level], workflowID, pass, step },
    ])
  })

  it('is not woken again', async () => {
    await over()
    await statusActivities(stage.deps).settle({ ...SETTLE, againMs: 3000 })
    expect(await stage.db.selectFrom('wake').selectAll().execute()).toEqual([])
  })

  it('may still write in level mode, where a run that is woken while it closes its row continues', async () => {
    await openJob(stage.db, { ...JOB, job_id: '' })
    await endJob(stage.db, WRITER.workflowID, stage.deps.now())
    expect(await writeAll(stage.deps, WRITER, [patched('superseded')])).toMatchObject([{ result: 'ok', wrote: true }])
  })

  it('does not block another run of its workflow ID that writes at the same time', async () => {
    await over()
    const late = writeAll(stage.deps, WRITER, [patched('superseded')])
    const next = writeAll(stage.deps, { ...WRITER, runID: 'next' }, [patched('superseded')])
    expect(await Promise.all([late, next])).toMatchObject([[{ result: 'superseded' }], [{ result: 'ok', wrote: true }]])
  })

  it('is identified by its passes if the dispatcher wrote no run ID to its job row', async () => {
    await openJob(stage.db, { ...JOB, run_id: null })
    await recordObservation(stage.deps, WRITER)
    await endJob(stage.db, WRITER.workflowID, stage.deps.now())
    expect(await writeAll(stage.deps, WRITER, [patched('superseded')])).toMatchObject([{ result: 'superseded' }])
  })

  it.each([['another-run'], [null]])('does not block another run of its workflow ID (%s)', async (runID) => {
    await over(runID)
    expect(await writeAll(stage.deps, WRITER, [patched('superseded')])).toMatchObject([{ result: 'ok', wrote: true }])
  })
})
