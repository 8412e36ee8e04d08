// Every write of the engine in its races: against an API server that the test drives, and a real journal.

import { beforeEach, describe, expect, inject, it } from 'vitest'

import type { Deps } from '../../activities/deps.ts'
import { journalEvents } from '../../activities/journal/events.ts'
import { type NewJob } from '../../activities/journal/jobs.ts'
import { type KubeObject } from '../../activities/kube/client.ts'
import { recordObservation } from '../../activities/kube/observe.ts'
import { statusActivities } from '../../activities/kube/status.ts'
import { type Write, writeAll, type Writer } from '../../activities/kube/write.ts'
import { deployItemKind } from '../../workflows/deploy-item/kind.ts'
import { executionKind } from '../../workflows/execution/kind.ts'
import type { SettleInput, StatusChange } from '../../workflows/kit/index.ts'
import { endJob, openJob } from '../activities/journal/one-row.ts'
import { type TestDatabase } from '../activities/journal/test-database.ts'
import type { TinyApi } from '../activities/kube/tiny-api.ts'
import { refusal } from '../activities/kube/tiny-api.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'

const COLLECTION = `/apis/${executionKind.apiVersion}/namespaces/n/executions`
const PATH = `${COLLECTION}/exec`
const WRITER: Writer = {
  workflowID: 'execution/uid-exec/job',
  runID: 'run',
  pass: 1,
  step: 'test',
  fieldManager: 'pawl-execution',
}

const JOB: NewJob = {
  ...{
    workflow_id: WRITER.workflowID,
    run_id: WRITER.runID,
    controller: 'execution',
    cluster: 'local',
    uid: 'uid-exec',
  },
  ...{ job_id: 'job', namespace: 'n', name: 'exec', cause: 'test', started_at: new Date('2030-01-01T00:00:00Z') },
}

let database: TestDatabase
let api: TinyApi
let deps: Deps

const stage = useWriteStage(inject('servers').databaseUrl)
beforeEach(() => {
  ;({ database, api, deps } = stage())
})

const execution = (status: object = {}, metadata: object = {}): KubeObject => ({
  ...{ apiVersion: executionKind.apiVersion, kind: 'Execution', spec: {}, status },
  metadata: { name: 'exec', namespace: 'n', uid: 'uid-exec', generation: 1, ...metadata },
})
const finishedItem: KubeObject = {
  ...{ apiVersion: deployItemKind.apiVersion, kind: 'DeployItem', spec: { type: 'foreign/type' } },
  metadata: {
    ...{ name: 'item', namespace: 'n', uid: 'uid-item', generation: 1 },
    ownerReferences: [
      { apiVersion: executionKind.apiVersion, kind: 'Execution', name: 'exec', uid: 'uid-exec', controller: true },
    ],
  },
  status: { jobID: 'job', jobIDFinished: 'job', phase: 'Progressing' },
}
const at = { watched: executionKind, namespace: 'n', name: 'exec' }
const phase = (phase: string) => ({ status: { phase } })
const statusOf = (path = PATH) => api.objects.get(path)?.['status']
const actions = async () =>
  await database.db.selectFrom('action').select(['verb', 'resource_version', 'error']).execute()
const events = async () =>
  await database.db.selectFrom('watch_event').select(['type', 'source', 'writer']).orderBy('seq').execute()

/** Changes the object just before the next write to it is served, once. */
function race(object: KubeObject): void {
  api.intercept = ({ method }) => {
    if (method !== 'GET') {
      api.intercept = () => undefined
      api.put(PATH, object)
    }
    return undefined
  }
}

describe('a patch', () => {
  const patchStatus = (version: string, reapply: (Write & { verb: 'patchStatus' })['reapply']): Write => ({
    ...{ verb: 'patchStatus', ...at, version, patch: phase('ours'), reapply },
  })

  it('is made on the version that was observed, and journaled as our write', async () => {
    const { metadata } = api.put(PATH, execution())
    const [answer] = await writeAll(deps, WRITER, [patchStatus(metadata.resourceVersion ?? '', () => 'superseded')])
    expect(answer).toMatchObject({ result: 'ok', wrote: true, conflicted: false, object: phase('ours') })
    expect(await events()).toEqual([{ type: 'MODIFIED', source: 'write', writer: WRITER.workflowID }])
    expect(await actions()).toEqual([{ verb: 'patchStatus', resource_version: 102, error: null }])
  })

  it('is applied again to what a conflict shows', async () => {
    const { metadata } = api.put(PATH, execution())
    race(execution({ other: 1 }))
    const [answer] = await writeAll(deps, WRITER, [patchStatus(metadata.resourceVersion ?? '', () => phase('again'))])
    expect(answer).toMatchObject({ result: 'ok', wrote: true, conflicted: true })
    expect(statusOf()).toEqual({ other: 1, phase: 'again' })
    expect(api.requests).toEqual(['PATCH exec/status', 'GET executions/exec', 'PATCH exec/status'])
  })

  it.each([
    ['done', { result: 'ok', wrote: false, conflicted: true }],
    ['superseded', { result: 'superseded' }],
  ] as const)('writes nothing more when what a conflict shows is %s', async (verdict, expected) => {
    const { metadata } = api.put(PATH, execution())
    race(execution({ phase: 'theirs' }))
    const [answer] = await writeAll(deps, WRITER, [patchStatus(metadata.resourceVersion ?? '', () => verdict)])
    expect(answer).toMatchObject(expected)
    expect(statusOf()).toEqual({ phase: 'theirs' })
  })

  it('fails when the conflicts do not end, and finds the object gone when it is', async () => {
    api.intercept = ({ method }) => (method === 'PATCH' ? refusal(409, 'Conflict') : undefined)
    api.put(PATH, execution())
    const [conflicted] = await writeAll(deps, WRITER, [patchStatus('1', () => phase('again'))])
    expect(conflicted).toMatchObject({ result: 'failed', error: { reason: 'Conflict' } })
    expect(await actions()).toMatchObject([{ resource_version: null, error: { reason: 'Conflict' } }])
    api.objects.clear()
    api.intercept = () => undefined
    expect(await writeAll(deps, WRITER, [patchStatus('1', () => phase('again'))])).toEqual([{ result: 'gone' }])
  })

  it('that fails does not stop its siblings', async () => {
    api.put(PATH, execution())
    const other = { ...patchStatus('', () => 'superseded'), name: 'refused' } as Write
    api.intercept = ({ path }) => (path.includes('refused') ? refusal(422, 'Invalid') : undefined)
    const { metadata } = api.objects.get(PATH) as KubeObject
    const answers = await writeAll(deps, WRITER, [
      other,
      patchStatus(metadata.resourceVersion ?? '', () => 'superseded'),
    ])
    expect(answers).toMatchObject([{ result: 'failed', error: { reason: 'Invalid' } }, { result: 'ok' }])
  })
})

describe('a creation', () => {
  const create = (isOurs: boolean): Write => ({ verb: 'create', ...at, body: execution(), isOurs: () => isOurs })

  it('is journaled as the object’s first event', async () => {
    expect(await writeAll(deps, WRITER, [create(true)])).toMatchObject([{ result: 'ok', wrote: true }])
    expect(await events()).toEqual([{ type: 'ADDED', source: 'write', writer: WRITER.workflowID }])
  })

  it('that is repeated after a crash finds its own object', async () => {
    await writeAll(deps, WRITER, [create(true)])
    expect(await writeAll(deps, WRITER, [create(true)])).toMatchObject([{ result: 'ok', wrote: false }])
    expect((await actions()).length).toBe(1)
  })

  it('does not take the object of somebody else', async () => {
    api.put(PATH, execution({ phase: 'theirs' }))
    expect(await writeAll(deps, WRITER, [create(false)])).toMatchObject([{ result: 'superseded' }])
    expect(statusOf()).toEqual({ phase: 'theirs' })
  })
})

describe('a deletion', () => {
  const remove = (uid = 'uid-exec', version?: string): Write => ({ verb: 'delete', ...at, uid, version })

  it('of what is gone is done', async () => {
    expect(await writeAll(deps, WRITER, [remove()])).toEqual([{ result: 'gone' }])
  })

  it('looks again after a conflict, and deletes the version that it finds', async () => {
    const { metadata } = api.put(PATH, execution())
    race(execution({ phase: 'newer' }))
    const answers = await writeAll(deps, WRITER, [remove('uid-exec', metadata.resourceVersion)])
    expect(answers).toMatchObject([{ result: 'ok', conflicted: true }])
    expect(api.objects.size).toBe(0)
  })

  it('spares another object of the same name', async () => {
    api.put(PATH, execution({}, { uid: 'another' }))
    expect(await writeAll(deps, WRITER, [remove()])).toEqual([{ result: 'gone' }])
    expect(api.objects.size).toBe(1)
  })

  it('is not repeated for what is being deleted', async () => {
    const { metadata } = api.put(PATH, execution())
    race(execution({}, { deletionTimestamp: '2029-01-01T00:00:00Z', finalizers: ['held'] }))
    const answers = await writeAll(deps, WRITER, [remove('uid-exec', metadata.resourceVersion)])
    expect(answers).toMatchObject([{ result: 'ok', wrote: false }])
  })
})

// A worker that was stopped in the middle of a pass goes on there, and reads what later jobs have left.
describe('a run whose job is over', () => {
  const over = async (run_id: string | null = WRITER.runID) => {
    await openJob(database.db, { ...JOB, run_id })
    await endJob(database.db, WRITER.workflowID, deps.now())
  }
  const patched = (verdict: 'done' | 'superseded' | { status: { phase: string } }): Write => ({
    ...{
      verb: 'patchStatus',
      ...at,
      version: api.objects.get(PATH)?.metadata.resourceVersion ?? '',
      patch: phase('ours'),
    },
    reapply: () => verdict,
  })
  const removed: Write = { verb: 'delete', ...at, uid: 'uid-exec', version: undefined }
  const created: Write = { verb: 'create', ...at, body: execution(), isOurs: () => true }

  beforeEach(() => void api.put(PATH, execution({ phase: 'theirs' })))

  it.each([
    ['a patch', () => patched(phase('again')), { result: 'superseded' }],
    ['a patch of what is so already', () => patched('done'), { result: 'ok', wrote: false }],
    ['a deletion', () => removed, { result: 'superseded' }],
    ['a creation of what is there', () => created, { result: 'ok', wrote: false }],
  ] as const)('writes nothing: %s', async (_, write, expected) => {
    await over()
    expect(await writeAll(deps, WRITER, [write()])).toMatchObject([expected])
    expect(api.requests).toEqual(['GET executions/exec'])
    expect(statusOf()).toEqual({ phase: 'theirs' })
    expect(await actions()).toEqual([])
    expect(await events()).toEqual([])
  })

  it('finds gone what is gone', async () => {
    await over()
    api.objects.clear()
    expect(await writeAll(deps, WRITER, [created, removed])).toEqual([{ result: 'gone' }, { result: 'gone' }])
    expect(api.objects.size).toBe(0)
  })

  it('is not woken again', async () => {
    await over()
    await statusActivities(deps).settle({ ...SETTLE, againMs: 3000 })
    expect(await database.db.selectFrom('wake').selectAll().execute()).toEqual([])
  })

  it('is none in level mode, where a run that is woken while it closes its row goes on', async () => {
    await openJob(database.db, { ...JOB, job_id: '' })
    await endJob(database.db, WRITER.workflowID, deps.now())
    expect(await writeAll(deps, WRITER, [patched('superseded')])).toMatchObject([{ result: 'ok', wrote: true }])
  })

  it('does not stop another run of its workflow ID that asks at the same time', async () => {
    await over()
    const late = writeAll(deps, WRITER, [patched('superseded')])
    const next = writeAll(deps, { ...WRITER, runID: 'next' }, [patched('superseded')])
    expect(await Promise.all([late, next])).toMatchObject([[{ result: 'superseded' }], [{ result: 'ok', wrote: true }]])
  })

  it('is known by its passes, when it was found running or continued as new', async () => {
    await openJob(database.db, { ...JOB, run_id: null })
    await recordObservation(deps, WRITER)
    await endJob(database.db, WRITER.workflowID, deps.now())
    expect(await writeAll(deps, WRITER, [patched('superseded')])).toMatchObject([{ result: 'superseded' }])
  })

  it.each([['another-run'], [null]])('does not stop another run of its workflow ID (%s)', async (runID) => {
    await over(runID)
    expect(await writeAll(deps, WRITER, [patched('superseded')])).toMatchObject([{ result: 'ok', wrote: true }])
  })
})

describe('a settle', () => {
  const ours = { jobID: 'job', phase: 'Progressing' }
  const settle = async (change: Partial<StatusChange>) =>
    await statusActivities(deps).settle({ ...SETTLE, change: { ...CHANGE, ...change } })
  const observed = (status: object = ours) => api.put(PATH, execution(status)).metadata.resourceVersion ?? ''

  it('writes phase and end of the job in one request', async () => {
    const version = observed()
    const settled = await settle({ version, phase: 'Succeeded', finished: true, marks: ['finishedTime'] })
    expect(settled).toMatchObject({ result: 'settled', target: { phase: 'Succeeded', jobIDFinished: 'job' } })
    expect(api.requests).toEqual(['PATCH exec/status'])
    expect(statusOf()).toMatchObject({
      jobID: 'job',
      jobIDFinished: 'job',
      transitionTimes: { finishedTime: '2030-01-01T00:00:00.000Z' },
    })
  })

  it('takes what is as intended for its own, after a lost answer', async () => {
    const version = observed()
    await settle({ version, phase: 'Succeeded', finished: true })
    await database.db.deleteFrom('job').execute()
    const writes = api.requests.length
    expect(await settle({ version, phase: 'Succeeded', finished: true })).toMatchObject({ result: 'settled' })
    expect(api.requests.slice(writes)).toEqual(['PATCH exec/status', 'GET executions/exec'])
  })

  it('is written again on the version of somebody else’s harmless write', async () => {
    const version = observed()
    observed({ ...ours, note: 'theirs' })
    expect(await settle({ version, phase: 'Completing' })).toMatchObject({
      result: 'settled',
      target: { phase: 'Completing' },
    })
    expect(statusOf()).toMatchObject({ note: 'theirs', phase: 'Completing' })
  })

  it.each([
    ['the job is another one', { jobID: 'other', phase: 'Progressing' }],
    ['the phase was moved by another run', { jobID: 'job', phase: 'Failed', jobIDFinished: 'job' }],
    ['the job was ended by another run', { jobID: 'job', phase: 'Progressing', jobIDFinished: 'job' }],
  ])('is superseded when %s, and writes nothing', async (_, status) => {
    const version = observed()
    observed(status)
    expect(await settle({ version, phase: 'Completing' })).toEqual({ result: 'superseded' })
    expect(statusOf()).toEqual(status)
  })

  it.each([
    ['an edit', { generation: 2 }, true],
    [
      'a deletion, which adds one to the generation',
      { generation: 2, deletionTimestamp: '2030-01-01T00:00:00Z' },
      false,
    ],
    ['a write of no edit', { generation: 1 }, false],
  ])(
    'that would end the job over %s that the pass has not seen: is it overtaken?',
    async (_, metadata, isOvertaken) => {
      const version = observed()
      const { spec, status, ...rest } = execution(ours)
      api.put(PATH, { ...rest, spec, status, metadata: { ...rest.metadata, ...metadata } })
      const settled = await settle({ version, phase: 'Succeeded', finished: true })
      expect(settled.result).toBe(isOvertaken ? 'overtaken' : 'settled')
      expect(statusOf()).toMatchObject({ phase: isOvertaken ? 'Progressing' : 'Succeeded' })
      const later = api.objects.get(PATH)?.metadata.resourceVersion ?? ''
      expect(await settle({ version: later, phase: 'Succeeded', finished: true })).toMatchObject({ result: 'settled' })
    },
  )

  it('closes the row of its run with the event of its last write, and wakes nobody else for it', async () => {
    await openJob(database.db, { ...JOB, run_id: 'run' })
    await settle({ version: observed(), phase: 'Succeeded', finished: true })
    expect(await database.db.selectFrom('job').select('outcome').execute()).toEqual([{ outcome: 'Succeeded' }])
    const causes = (await database.db.selectFrom('wake').select('cause').execute()).map(({ cause }) => cause)
    expect(causes).not.toContain('run ended: Succeeded')
  })

  it('closes the row of its run when it ends the job, whoever told of that first', async () => {
    const outcome = async () => await database.db.selectFrom('job').select(['outcome', 'run_id']).execute()
    await openJob(database.db, { ...JOB, run_id: 'run' })
    const version = observed()
    await settle({ version, phase: 'Completing' })
    expect(await outcome()).toEqual([{ outcome: null, run_id: 'run' }])
    // Its last write was answered, and the process that sent it died; the bridge has journaled it as anybody's.
    const status = { ...ours, phase: 'Succeeded', jobIDFinished: 'job' }
    const { watched } = at
    const event = { watched, type: 'MODIFIED', object: api.put(PATH, execution(status)) } as const
    await journalEvents(database.db, { cluster: 'local', source: 'watch', events: [event] }, deps)
    expect(await outcome()).toEqual([{ outcome: null, run_id: 'run' }])
    await settle({ version, phase: 'Succeeded', finished: true })
    expect(await outcome()).toEqual([{ outcome: 'Succeeded', run_id: 'run' }])
  })

  it('has nothing to write to what is gone', async () => {
    expect(await settle({ version: '1', phase: 'Succeeded', finished: true })).toEqual({
      result: 'settled',
      target: {},
      woken: false,
    })
  })

  it('leaves a lingering run to go on when its wake is journaled, which comes again later', async () => {
    const now = deps.now()
    await openJob(database.db, JOB)
    const settled = statusActivities(deps).settle({ ...SETTLE, lingers: true })
    await expect.poll(() => deps.lingering.count).toBe(1)
    const writer = { ...WRITER, workflowID: 'deploy/uid-exec/job' }
    const item = api.put(`${COLLECTION.replace('executions', 'deployitems')}/item`, finishedItem)
    const version = item.metadata.resourceVersion ?? ''
    await writeAll(deps, writer, [
      {
        verb: 'patchStatus',
        ...at,
        watched: deployItemKind,
        name: 'item',
        version,
        patch: phase('Succeeded'),
        reapply: () => 'done',
      },
    ])
    expect(await settled).toEqual({ result: 'settled', target: {}, woken: true })
    const wakes = await database.db.selectFrom('wake').select(['controller', 'uid', 'due']).execute()
    expect(wakes).toEqual([{ controller: 'execution', uid: 'uid-exec', due: new Date(now.getTime() + 2000) }])
  })

  it('puts the next due time into the journal, later with each attempt', async () => {
    const dues: number[] = []
    // The last: a wish for another pass beside a fault is not put off by the back-off.
    for (const [attempt, againMs = Number.MAX_SAFE_INTEGER] of [[0, 3000], [1], [5], [5, 20]] as const) {
      await database.db.deleteFrom('wake').execute()
      await statusActivities(deps).settle({ ...SETTLE, change: undefined, againMs, attempt })
      const [wake] = await database.db.selectFrom('wake').selectAll().execute()
      expect(wake).toMatchObject({ controller: 'execution', uid: 'uid-exec', foreign_event: true, may_start: true })
      dues.push((wake?.due.getTime() ?? 0) - deps.now().getTime())
    }
    expect(dues).toEqual([3000, 5, 80, 20])
    expect(api.requests).toEqual([])
  })
})

const CHANGE: StatusChange = {
  ...{
    version: '',
    observedPhase: 'Progressing',
    specGeneration: 1,
    phase: '',
    finished: false,
    observedGeneration: 1,
    lastError: undefined,
  },
  ...{ conditions: [], marks: [], fields: {} },
}
const SETTLE: SettleInput = {
  ...{ workflowID: WRITER.workflowID, runID: 'run', jobID: 'job', pass: 1, change: undefined, againMs: undefined },
  ...{ attempt: 0, fault: undefined, lingers: false },
  subject: { kind: 'Execution', uid: 'uid-exec', namespace: 'n', name: 'exec' },
  cause: 'test',
}
