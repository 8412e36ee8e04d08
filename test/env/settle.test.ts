// The settle of a pass: its one status write, the row of its run, and its next due time. Against a scripted API server
// and a real journal. Source: activities/run/write-status.ts, S1 and S2.

import { describe, expect, inject, it } from 'vitest'

import { InFlightRuns } from '../../activities/run/in-flight-runs.ts'
import { journalEvents } from '../../activities/journal/write/events.ts'
import { statusActivities } from '../../activities/run/settle.ts'
import type { StatusChange } from '../../workflows/kit/index.ts'
import { refusal } from '../activities/kube/tiny-api.ts'
import { openJob } from '../activities/journal/one-row.ts'
import { at, execution, JOB, PATH, SETTLE, useExecutionStage } from './execution-stage.ts'

const stage = useExecutionStage(inject('servers').databaseUrl)
const { statusOf } = stage

describe('a settle', () => {
  const ours = { jobID: 'job', phase: 'Progressing' }
  const settle = async (change: Partial<StatusChange>) =>
    await statusActivities(stage.deps).settle({ ...SETTLE, change: { ...CHANGE, ...change } })
  /** Stores the Execution as the pass has observed it. @returns its resourceVersion. */
  const observed = (status: object = ours) =>
    stage.deps.objects.put(stage.api.put(PATH, execution(status))).metadata.resourceVersion ?? ''

  it('writes the phase and the end of the job in one request', async () => {
    const version = observed()
    const settled = await settle({ version, phase: 'Succeeded', finished: true, marks: ['finishedTime'] })
    expect(settled).toMatchObject({ result: 'settled', target: { phase: 'Succeeded', jobIDFinished: 'job' } })
    expect(stage.api.requests).toEqual(['PATCH exec/status'])
    expect(statusOf()).toMatchObject({
      jobID: 'job',
      jobIDFinished: 'job',
      transitionTimes: { finishedTime: '2030-01-01T00:00:00.000Z' },
    })
  })

  it('accepts a status that is already as intended, after a lost answer', async () => {
    const version = observed()
    await settle({ version, phase: 'Succeeded', finished: true })
    await stage.db.deleteFrom('job').execute()
    const writes = stage.api.requests.length
    expect(await settle({ version, phase: 'Succeeded', finished: true })).toMatchObject({ result: 'settled' })
    expect(stage.api.requests.slice(writes)).toEqual(['PATCH exec/status', 'GET executions/exec'])
  })

  it('retries its write with the new resourceVersion after a harmless write of another client', async () => {
    const version = observed()
    observed({ ...ours, note: 'theirs' })
    expect(await settle({ version, phase: 'Completing' })).toMatchObject({
      result: 'settled',
      target: { phase: 'Completing' },
    })
    expect(statusOf()).toMatchObject({ note: 'theirs', phase: 'Completing' })
  })

  it.each([
    ['the object has another job', { jobID: 'other', phase: 'Progressing' }],
    ['another run has changed the phase', { jobID: 'job', phase: 'Failed', jobIDFinished: 'job' }],
    ['another run has ended the job', { jobID: 'job', phase: 'Progressing', jobIDFinished: 'job' }],
  ])('is superseded when %s, and writes nothing', async (_, status) => {
    const version = observed()
    observed(status)
    expect(await settle({ version, phase: 'Completing' })).toEqual({ result: 'superseded' })
    expect(statusOf()).toEqual(status)
  })

  it.each([
    ['an edit', { generation: 2 }, true],
    ['a deletion, which increases the generation', { generation: 2, deletionTimestamp: '2030-01-01T00:00:00Z' }, false],
    ['a write with the same generation', { generation: 1 }, false],
  ])(
    'that ends the job is overtaken only by an edit of the spec; here %s came after the read',
    async (_, metadata, isOvertaken) => {
      const version = observed()
      const { spec, status, ...rest } = execution(ours)
      stage.api.put(PATH, { ...rest, spec, status, metadata: { ...rest.metadata, ...metadata } })
      const settled = await settle({ version, phase: 'Succeeded', finished: true })
      expect(settled.result).toBe(isOvertaken ? 'overtaken' : 'settled')
      expect(statusOf()).toMatchObject({ phase: isOvertaken ? 'Progressing' : 'Succeeded' })
      const later = stage.api.objects.get(PATH)?.metadata.resourceVersion ?? ''
      expect(await settle({ version: later, phase: 'Succeeded', finished: true })).toMatchObject({ result: 'settled' })
    },
  )

  it('closes the job row of its run with the event of its last write, and schedules no wake for the end', async () => {
    await openJob(stage.db, JOB)
    await settle({ version: observed(), phase: 'Succeeded', finished: true })
    expect(await stage.db.selectFrom('job').select('outcome').execute()).toEqual([{ outcome: 'Succeeded' }])
    const causes = (await stage.db.selectFrom('wake').select('cause').execute()).map(({ cause }) => cause)
    expect(causes).not.toContain('run ended: Succeeded')
  })

  it('closes the job row of its run when it ends the job, also when the bridge has journaled the end first', async () => {
    const outcome = async () => await stage.db.selectFrom('job').select(['outcome', 'run_id']).execute()
    await openJob(stage.db, JOB)
    const version = observed()
    await settle({ version, phase: 'Completing' })
    expect(await outcome()).toEqual([{ outcome: null, run_id: 'run' }])
    // The process died after the API server had accepted its last write; the bridge journals the event, without a
    // writer.
    const status = { ...ours, phase: 'Succeeded', jobIDFinished: 'job' }
    const { watched } = at
    const event = { watched, type: 'MODIFIED', object: stage.api.put(PATH, execution(status)) } as const
    await journalEvents(stage.db, { cluster: 'local', source: 'watch', events: [event] }, stage.deps)
    expect(await outcome()).toEqual([{ outcome: null, run_id: 'run' }])
    await settle({ version, phase: 'Succeeded', finished: true })
    expect(await outcome()).toEqual([{ outcome: 'Succeeded', run_id: 'run' }])
  })

  it('writes nothing to a deleted object', async () => {
    expect(await settle({ version: '1', phase: 'Succeeded', finished: true })).toEqual({
      result: 'settled',
      target: {},
      woken: false,
    })
  })

  it('returns whether the run was woken since its pass started, and removes it from the in-flight runs', async () => {
    const { inFlightRuns } = stage.deps
    const { workflowID } = SETTLE
    const wake = { controller: 'execution', uid: 'uid-exec', job_id: '', version: 1, seq: 1 }
    const told = async () => await statusActivities(stage.deps).settle({ ...SETTLE, change: undefined })
    inFlightRuns.passStarted(workflowID)
    inFlightRuns.routeWake(wake, { workflow_id: workflowID, passes: 1 })
    expect(await told()).toEqual({ result: 'settled', target: {}, woken: true, wokenBy: [1] })
    inFlightRuns.passStarted(workflowID)
    expect(await told()).toMatchObject({ woken: false })
    expect(inFlightRuns.routeWake({ ...wake, version: 2 }, { workflow_id: workflowID, passes: 2 })).toBe('signal')
  })

  it.each([
    ['emits an Event when the API server keeps refusing the reads of a pass', 'Invalid', 3, 1],
    ['emits no Event for the first refusal', 'Invalid', 1, 0],
    ['emits no Event when the API server is unreachable', 'Unreachable', 3, 0],
  ])('%s', async (_, reason, attempt, events) => {
    const fault = { reason, message: 'it is refused' }
    const seen = { ...SETTLE, change: undefined, fault, attempt, againMs: 0 }
    await statusActivities(stage.deps).settle({ ...seen, isUnseen: true })
    await statusActivities(stage.deps).settle(seen)
    const told = [...stage.api.objects.values()].filter(({ kind }) => kind === 'Event')
    expect(told).toHaveLength(events)
    for (const one of told) expect(one).toMatchObject({ type: 'Warning', ...fault, involvedObject: { name: 'exec' } })
  })

  it.each([
    ['answers 401', refusal(401, 'Unauthorized'), 'Unauthorized', [5, 10, 20_480]],
    ['answers 429', refusal(429, 'TooManyRequests'), 'TooManyRequests', [5, 10, 20_480]],
    ['answers 409', refusal(409, 'Gone'), 'Gone', [5, 10, 20_480]],
    ['answers 503', refusal(503, 'ServiceUnavailable'), 'ServiceUnavailable', [5, 10, 20_480]],
    ['does not answer', 'silence', 'Unreachable', [5, 10, 20_480]],
    ['answers 422', refusal(422, 'Invalid'), 'Invalid', [5, 10, 1_000_000]],
  ] as const)(
    'T10: holds no workflow task when the server %s, and the journal schedules the next pass',
    async (_, answer, reason, dues) => {
      await openJob(stage.db, JOB)
      const version = observed()
      stage.api.intercept = ({ method, path }) => (method === 'PATCH' && path === `${PATH}/status` ? answer : undefined)
      // Short deadlines, for the server that does not answer.
      const patience = answer === 'silence' ? { requestMs: 200, totalMs: 300 } : undefined
      for (const [index, refusals] of [0, 1, 40].entries()) {
        await stage.db.deleteFrom('wake').execute()
        const settled = await statusActivities(stage.deps, {}, patience).settle({
          ...SETTLE,
          refusals,
          change: { ...CHANGE, version, phase: 'Succeeded', finished: true },
        })
        expect(settled).toEqual({ result: 'refused' })
        const [wake] = await stage.db.selectFrom('wake').selectAll().execute()
        expect((wake?.due.getTime() ?? 0) - stage.deps.now().getTime()).toBe(dues[index])
      }
      const [job] = await stage.db.selectFrom('job').select(['outcome', 'last_error']).execute()
      expect(job).toMatchObject({ outcome: null, last_error: { reason } })
      // The settle emits one Event, and only after repeated refusals.
      const told = [...stage.api.objects.values()].filter(({ kind }) => kind === 'Event')
      expect(told).toMatchObject([{ type: 'Warning', reason }])
      stage.api.intercept = () => undefined
      expect(await settle({ version, phase: 'Succeeded', finished: true })).toMatchObject({ result: 'settled' })
      expect(statusOf()).toMatchObject({ jobIDFinished: 'job' })
    },
  )

  it('stores the next due time in the journal, later with each attempt', async () => {
    const dues: number[] = []
    // The last case: the back-off does not delay a pass that the run has requested in addition to its fault.
    for (const [attempt, againMs = Number.MAX_SAFE_INTEGER] of [[0, 3000], [1], [5], [5, 20]] as const) {
      await stage.db.deleteFrom('wake').execute()
      await statusActivities(stage.deps).settle({ ...SETTLE, change: undefined, againMs, attempt })
      const [wake] = await stage.db.selectFrom('wake').selectAll().execute()
      expect(wake).toMatchObject({ controller: 'execution', uid: 'uid-exec', foreign_event: true, may_start: false })
      dues.push((wake?.due.getTime() ?? 0) - stage.deps.now().getTime())
    }
    expect(dues).toEqual([3000, 5, 80, 20])
    expect(stage.api.requests).toEqual([])
  })

  it('delays the next pass of a run whose failed calls have held its workflow task, also when it requests an earlier pass', async () => {
    let ms = 0
    const deps = { ...stage.deps, inFlightRuns: new InFlightRuns(() => new Date(ms)) }
    const dues: number[] = []
    for (const [heldMs, attempt, againMs] of [
      [20_000, 1, 20],
      [20_000, 3, 20],
      [0, 1, 20],
      [28_000, 9, 20],
      [200_000, 2, 20],
      [3000, 1, 20],
      [20_000, 0, 20],
    ] as const) {
      await stage.db.deleteFrom('wake').execute()
      const ended = deps.inFlightRuns.callStarted(SETTLE.workflowID)
      ms += heldMs
      ended('failed')
      await statusActivities(deps).settle({ ...SETTLE, change: undefined, againMs, attempt })
      const [wake] = await stage.db.selectFrom('wake').selectAll().execute()
      dues.push((wake?.due.getTime() ?? 0) - stage.deps.now().getTime())
    }
    expect(dues).toEqual([5000, 20_000, 5, 224_000, 100_000, 5, 20])
  })
})

const CHANGE: StatusChange = {
  version: '',
  observedPhase: 'Progressing',
  specGeneration: 1,
  phase: '',
  finished: false,
  observedGeneration: 1,
  lastError: undefined,
  conditions: [],
  marks: [],
  fields: {},
}
