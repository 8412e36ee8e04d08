// Wakes of hosted children lead to the run of the root. Other wakes: test/env/dispatch.test.ts.

import { describe, expect, it } from 'vitest'

import type { JournaledObject, SubjectState } from '../../../activities/journal/read/subjects.ts'
import type { Job } from '../../../activities/journal/write/jobs.ts'
import type { Wake } from '../../../activities/journal/write/wakes.ts'
import { type Lookups, resolveWake } from '../../../worker/reconciler/resolve-wake.ts'
import { builtInRegistry } from '../../../worker/server/registry.ts'
import { groupKindOf, isIdle } from '../../../workflows/kit/index.ts'
import { FINALIZER } from '../../../workflows/landscaper/contract.ts'
import { executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import { installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import { job, newWake } from '../../activities/journal/build-job.ts'
import { NOW } from '../../activities/journal/build-events.ts'

const MOCK = 'landscaper.gardener.cloud/mock'
const MANIFEST = 'landscaper.gardener.cloud/kubernetes-manifest'
const RUNNING = { jobID: 'job', jobIDFinished: 'before' }
const IDLE = { jobID: 'before', jobIDFinished: 'before' }
const OTHER = { jobID: 'other', jobIDFinished: 'before' }
const ENDED = { jobID: 'job', jobIDFinished: 'job' }
const [ROOT, OF_EXECUTION, OF_ITEM] = [
  openJob('installation', 'inst'),
  openJob('execution', 'exec'),
  openJob('deploy', 'item'),
]
const open = (job: Job) => ({ to: 'open', job })
const nothing = (reason: string) => ({ to: 'nothing', reason })
const NO_RUN = nothing('no open run')
/** A start of a run with at least these fields, and without a warning. */
const start = (run: object, input: object = {}) => ({
  to: 'start',
  run: expect.objectContaining({ ...run, input: expect.objectContaining(input) as object }) as object,
})

interface Known {
  /** The types that the host's open run handles; absent: all. */
  readonly serves?: readonly string[]
  readonly item?: object
  readonly exec: object
  /** The status of the Installation; absent: it runs the job. */
  readonly inst?: object
  readonly jobs: readonly Job[]
}
type Row = [title: string, known: Known, expected: object, wake?: Partial<Wake>]

describe('a wake of an Execution', () => {
  const other = openJob('execution', 'exec', 'other')
  const own = { foreign_event: false, writer: ROOT.workflow_id }

  it.each<Row>([
    ['for the run of its Installation when it has that job', { exec: RUNNING, jobs: [ROOT] }, open(ROOT)],
    ['for the run of its Installation when it does not have the job yet', { exec: IDLE, jobs: [ROOT] }, open(ROOT)],
    ['for the run of its Installation when it never had a job', { exec: {}, jobs: [ROOT] }, open(ROOT)],
    ['for its own open run of another job', { exec: OTHER, jobs: [ROOT, other] }, open(other)],
    ['for no run when it has another job that it does not start', { exec: OTHER, jobs: [ROOT] }, NO_RUN],
    ['for no run when its Installation has no job', { exec: IDLE, inst: IDLE, jobs: [] }, NO_RUN],
    ['for no run when that run made the write', { exec: RUNNING, jobs: [ROOT] }, nothing('own write'), own],
    [
      'for a start, which reports a run that is open without a row',
      { exec: RUNNING, jobs: [] },
      start({ controller: 'installation' }),
    ],
  ])('is %s', async (_, known, expected, wake) => {
    expect(await resolve({ controller: 'execution', uid: 'exec', may_start: false, ...wake }, known)).toEqual(expected)
  })
})

describe('a wake of an item', () => {
  const hosted = { item: RUNNING, exec: RUNNING, jobs: [ROOT] }
  const [served, unserved] = [[MANIFEST, MOCK], [MANIFEST]]
  const ownStart = start({ controller: 'deploy', lane: MOCK }, { jobID: 'job' })

  it.each<Row>([
    ['for the run of the Installation that hosts its Execution', hosted, open(ROOT)],
    ['for that run when it does not have the job yet', { ...hosted, item: IDLE }, open(ROOT)],
    ['for that run before the Execution has the job', { ...hosted, exec: IDLE }, open(ROOT)],
    ['for that run before the Execution has any job', { ...hosted, exec: {} }, open(ROOT)],
    ["for the Execution's own run", { ...hosted, inst: IDLE, jobs: [OF_EXECUTION] }, open(OF_EXECUTION)],
    ['for its own open run', { ...hosted, jobs: [ROOT, OF_ITEM] }, open(OF_ITEM)],
    ["for the host's run if that handles its type", { ...hosted, serves: served }, open(ROOT)],
    ["for its own run if the host's run does not handle its type", { ...hosted, serves: unserved }, ownStart],
    ['for that own run while it is open', { ...hosted, jobs: [ROOT, OF_ITEM], serves: unserved }, open(OF_ITEM)],
    [
      'for no run before it has the job that its own run would get',
      { ...hosted, item: IDLE, serves: unserved },
      nothing('deploy item is idle'),
    ],
  ])('is %s', async (_, known, expected) => {
    expect(await resolve({ controller: 'deploy', uid: 'item' }, known)).toEqual(expected)
  })

  it.each([
    ['the Execution has another job', { item: RUNNING, exec: OTHER, jobs: [ROOT] }],
    ['the Execution has ended it', { item: RUNNING, exec: ENDED, inst: IDLE, jobs: [ROOT] }],
    ['the item has another one', { item: OTHER, exec: RUNNING, jobs: [ROOT] }],
  ])('is not the host’s when %s: the item is the root of a run', async (_, known) => {
    const wake = { controller: 'deploy', uid: 'item' }
    expect(await resolve({ ...wake, may_start: false }, known)).toEqual(NO_RUN)
    const subject = expect.objectContaining({ kind: 'DeployItem' }) as object
    const expected = start({ controller: 'deploy' }, { subject, jobID: known.item.jobID })
    expect(await resolve(wake, known)).toEqual(expected)
  })
})

async function resolve(wake: Partial<Wake>, { item = {}, exec, inst = RUNNING, jobs, serves }: Known) {
  const above = {
    exec: { ...groupKindOf(executionKind), jobID: runningOf(exec) },
    inst: { ...groupKindOf(installationKind), jobID: runningOf(inst) },
  }
  const subjects = new Map([
    ['item', { ...subject('item', 'exec', item, [above.exec, above.inst]), hostPartitions: serves ?? null }],
    ['exec', subject('exec', 'inst', exec, [above.inst])],
    ['inst', subject('inst', null, inst, [])],
  ])
  const lookups: Lookups = {
    registry: builtInRegistry,
    now: () => NOW,
    findOpen: ({ controller, uid }) =>
      Promise.resolve(jobs.find((one) => one.controller === controller && one.uid === uid)),
    readSubject: ({ uid }) => Promise.resolve(subjects.get(uid)),
  }
  const row = { ...newWake({ namespace: 'n', name: 'root' }), version: 1, lease_owner: null, ...wake }
  return await resolveWake(row as unknown as Wake, lookups)
}

function runningOf(status: { readonly jobID?: string; readonly jobIDFinished?: string }): string | undefined {
  return isIdle(status) ? undefined : status.jobID
}

function subject(
  uid: string,
  owner_uid: string | null,
  status: object,
  above: SubjectState['ancestors'],
): SubjectState {
  const projection = { metadata: { finalizers: [FINALIZER] }, spec: { type: MOCK }, status }
  const object = { uid, owner_uid, namespace: 'n', name: 'root', deleted: false, projection }
  return {
    object: object as unknown as JournaledObject,
    owner: owner_uid === null ? 'gone' : 'present',
    ancestors: above,
    ownerKind: above[0],
    hostPartitions: null,
  }
}

function openJob(controller: string, uid: string, job_id = 'job'): Job {
  return { ...job({ controller, uid, job_id, workflow_id: `${controller}/${uid}/${job_id}` }) } as unknown as Job
}
