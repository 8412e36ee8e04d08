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
import { job } from '../../activities/journal/build-job.ts'
import { NOW } from '../../activities/journal/build-events.ts'

const MOCK = 'landscaper.gardener.cloud/mock'
const MANIFEST = 'landscaper.gardener.cloud/kubernetes-manifest'
const RUNNING = { jobID: 'job', jobIDFinished: 'before' }
const IDLE = { jobID: 'before', jobIDFinished: 'before' }
const OTHER = { jobID: 'other', jobIDFinished: 'before' }
const ROOT = openJob('installation', 'inst')

describe('a wake of an Execution', () => {
  it.each([
    ['has the job of its Installation', RUNNING],
    ['does not have it yet', IDLE],
    ['never had one', {}],
  ])('is for the run of its Installation when it %s', async (_, status) => {
    const found = await resolve({ controller: 'execution', uid: 'exec' }, { exec: status, jobs: [ROOT] })
    expect(found).toEqual({ to: 'open', job: ROOT })
  })

  it('leads to its own open run, and to no run if it has another job that it does not start', async () => {
    const own = openJob('execution', 'exec', 'other')
    const wake = { controller: 'execution', uid: 'exec' }
    expect(await resolve(wake, { exec: OTHER, jobs: [ROOT, own] })).toEqual({ to: 'open', job: own })
    expect(await resolve(wake, { exec: OTHER, jobs: [ROOT] })).toEqual({ to: 'nothing', reason: 'no open run' })
  })

  it('leads to no run if its Installation has no job, or if that run made the write', async () => {
    const wake = { controller: 'execution', uid: 'exec' }
    const idle = await resolve(wake, { exec: IDLE, inst: IDLE, jobs: [] })
    expect(idle).toEqual({ to: 'nothing', reason: 'no open run' })
    const own = { ...wake, foreign_event: false, writer: ROOT.workflow_id }
    expect(await resolve(own, { exec: RUNNING, jobs: [ROOT] })).toEqual({ to: 'nothing', reason: 'own write' })
    // Leads to a start, which reports a run that is open without a row.
    const early = await resolve(wake, { exec: RUNNING, jobs: [] })
    expect(early).toMatchObject({ to: 'start', run: { controller: 'installation' } })
  })
})

describe('a wake of an item', () => {
  const wake = { controller: 'deploy', uid: 'item', may_start: true }
  const late = { ...wake, may_start: false }

  it.each([
    ['has the job', RUNNING],
    ['does not have it yet', IDLE],
  ])('is for the run of the Installation that hosts its Execution when it %s', async (_, item) => {
    expect(await resolve(wake, { item, exec: RUNNING, jobs: [ROOT] })).toEqual({ to: 'open', job: ROOT })
  })

  it("leads to the Installation's run before the Execution has the job", async () => {
    for (const exec of [IDLE, {}])
      expect(await resolve(wake, { item: RUNNING, exec, jobs: [ROOT] })).toEqual({ to: 'open', job: ROOT })
  })

  it("leads to the Execution's run if it has its own", async () => {
    const own = openJob('execution', 'exec')
    const found = await resolve(wake, { item: RUNNING, exec: RUNNING, inst: IDLE, jobs: [own] })
    expect(found).toEqual({ to: 'open', job: own })
  })

  it('leads to its own open run', async () => {
    const own = openJob('deploy', 'item')
    const found = await resolve(wake, { item: RUNNING, exec: RUNNING, jobs: [ROOT, own] })
    expect(found).toEqual({ to: 'open', job: own })
  })

  it.each([
    ['the Execution has another job', { item: RUNNING, exec: OTHER }],
    ['the Execution has ended it', { item: RUNNING, exec: { jobID: 'job', jobIDFinished: 'job' }, inst: IDLE }],
    ['the item has another one', { item: OTHER, exec: RUNNING }],
  ])('is not the host’s when %s: the item is the root of a run', async (_, known) => {
    expect(await resolve(late, { ...known, jobs: [ROOT] })).toEqual({ to: 'nothing', reason: 'no open run' })
    expect(await resolve(wake, { ...known, jobs: [ROOT] })).toMatchObject({
      to: 'start',
      run: { controller: 'deploy', input: { subject: { kind: 'DeployItem' }, jobID: known.item.jobID } },
    })
  })
})

describe("a wake of an item whose type the host's run does not handle", () => {
  const wake = { controller: 'deploy', uid: 'item', may_start: true }
  const serves = [MANIFEST]

  it('leads to its own run, on the queue of its partition', async () => {
    const found = await resolve(wake, { item: RUNNING, exec: RUNNING, jobs: [ROOT], serves })
    expect(found).toMatchObject({ to: 'start', run: { controller: 'deploy', lane: MOCK, input: { jobID: 'job' } } })
    const open = openJob('deploy', 'item')
    const again = await resolve(wake, { item: RUNNING, exec: RUNNING, jobs: [ROOT, open], serves })
    expect(again).toEqual({ to: 'open', job: open })
  })

  it('leads to no run before the item has the job ID', async () => {
    const found = await resolve(wake, { item: IDLE, exec: RUNNING, jobs: [ROOT], serves })
    expect(found).toEqual({ to: 'nothing', reason: 'deploy item is idle' })
  })

  it("leads to the host's run if that handles the type, or all types", async () => {
    for (const all of [[MANIFEST, MOCK], null])
      expect(await resolve(wake, { item: RUNNING, exec: RUNNING, jobs: [ROOT], serves: all })).toEqual({
        to: 'open',
        job: ROOT,
      })
  })
})

interface Known {
  /** The types that the host's open run handles; null: all. */
  readonly serves?: readonly string[] | null
  readonly item?: object
  readonly exec: object
  /** The status of the Installation; absent: it runs the job. */
  readonly inst?: object
  readonly jobs: readonly Job[]
}

async function resolve(wake: Partial<Wake>, { item = {}, exec, inst = RUNNING, jobs, serves = null }: Known) {
  const above = {
    exec: { ...groupKindOf(executionKind), jobID: runningOf(exec) },
    inst: { ...groupKindOf(installationKind), jobID: runningOf(inst) },
  }
  const subjects = new Map([
    ['item', { ...subject('item', 'exec', item, [above.exec, above.inst]), hostPartitions: serves }],
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
  return await resolveWake({ ...WAKE, ...wake }, lookups)
}

function runningOf(status: { readonly jobID?: string; readonly jobIDFinished?: string }): string | undefined {
  return isIdle(status) ? undefined : status.jobID
}

const WAKE = {
  controller: '',
  uid: '',
  job_id: '',
  cluster: 'c',
  namespace: 'n',
  name: 'root',
  seq: 1,
  due: NOW,
  foreign_event: true,
  may_start: false,
  writer: null,
  cause: 'test',
  version: 1,
  lease_owner: null,
} as unknown as Wake

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
