// Wakes of children that are hosted: they are for the run of the root. What else becomes of wakes: test/env/dispatch.test.ts.

import type { Kysely } from 'kysely'
import { describe, expect, it } from 'vitest'

import type { Database } from '../../../activities/journal/database.ts'
import type { JournaledObject, SubjectState } from '../../../activities/journal/read/objects.ts'
import type { Job } from '../../../activities/journal/write/jobs.ts'
import type { Wake } from '../../../activities/journal/write/wakes.ts'
import { type Lookups, resolveWake } from '../../../worker/reconciler/resolve.ts'
import { builtIn } from '../../../worker/server/registry.ts'
import { job } from '../../activities/journal/build-job.ts'
import { NOW } from '../../activities/journal/build-events.ts'

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

  it('is for its own run when that is open, and for none when it has another job that it does not start', async () => {
    const own = openJob('execution', 'exec', 'other')
    const wake = { controller: 'execution', uid: 'exec' }
    expect(await resolve(wake, { exec: OTHER, jobs: [ROOT, own] })).toEqual({ to: 'open', job: own })
    expect(await resolve(wake, { exec: OTHER, jobs: [ROOT] })).toEqual({ to: 'nothing', reason: 'no open run' })
  })

  it('is for nobody when its Installation runs no job, or when that run wrote what it is about', async () => {
    const wake = { controller: 'execution', uid: 'exec' }
    const idle = await resolve(wake, { exec: IDLE, inst: IDLE, jobs: [] })
    expect(idle).toEqual({ to: 'nothing', reason: 'no open run' })
    const own = { ...wake, foreign_event: false, writer: ROOT.workflow_id }
    expect(await resolve(own, { exec: RUNNING, jobs: [ROOT] })).toEqual({ to: 'nothing', reason: 'own write' })
    // Found where it is started: it may be open without a row.
    const early = await resolve(wake, { exec: RUNNING, jobs: [] })
    expect(early).toMatchObject({ to: 'start', run: { controller: 'installation' } })
  })
})

describe('a wake of a deploy group', () => {
  const wake = { controller: 'deploy', uid: 'exec', job_id: 'job', may_start: true }

  it('is for the run of the Installation, which hosts the Execution', async () => {
    expect(await resolve(wake, { exec: RUNNING, jobs: [ROOT] })).toEqual({ to: 'open', job: ROOT })
  })

  it('is so before the Execution has the job: its items may have it first', async () => {
    expect(await resolve(wake, { exec: IDLE, jobs: [ROOT] })).toEqual({ to: 'open', job: ROOT })
    expect(await resolve(wake, { exec: {}, jobs: [ROOT] })).toEqual({ to: 'open', job: ROOT })
  })

  it('is for the run of the Execution where that has one of its own', async () => {
    const own = openJob('execution', 'exec')
    expect(await resolve(wake, { exec: RUNNING, inst: IDLE, jobs: [own] })).toEqual({ to: 'open', job: own })
  })

  it('is for its own run when that is open', async () => {
    const group = openJob('deploy', 'exec')
    expect(await resolve(wake, { exec: RUNNING, jobs: [ROOT, group] })).toEqual({ to: 'open', job: group })
  })

  it('is not the host’s when the Execution has another job, or none of this one', async () => {
    const late = { ...wake, may_start: false }
    for (const exec of [OTHER, { jobID: 'job', jobIDFinished: 'job' }])
      expect(await resolve(late, { exec, inst: IDLE, jobs: [ROOT] })).toMatchObject({ to: 'nothing' })
    expect(await resolve(late, { exec: OTHER, jobs: [ROOT] })).toMatchObject({ to: 'nothing' })
  })
})

interface Known {
  readonly exec: object
  /** The status of the Installation; absent: it runs the job. */
  readonly inst?: object
  readonly jobs: readonly Job[]
}

async function resolve(wake: Partial<Wake>, { exec, inst = RUNNING, jobs }: Known) {
  const subjects = new Map([
    ['exec', subject('exec', 'inst', exec, inst === RUNNING ? 'job' : undefined)],
    ['inst', subject('inst', null, inst, undefined)],
  ])
  const lookups: Lookups = {
    registry: builtIn,
    findOpen: ({ controller, uid, jobID }) =>
      Promise.resolve(
        jobs.find(
          (one) => one.controller === controller && one.uid === uid && (jobID === undefined || one.job_id === jobID),
        ),
      ),
    readSubject: ({ uid }) => Promise.resolve(subjects.get(uid)),
  }
  // Nothing here may ask the journal beside the lookups.
  const db = undefined as unknown as Kysely<Database>
  return await resolveWake(db, { ...WAKE, ...wake }, lookups)
}

const WAKE = {
  ...{ controller: '', uid: '', job_id: '', cluster: 'c', namespace: 'n', name: 'root', seq: 1, due: NOW },
  ...{ foreign_event: true, may_start: false, writer: null, cause: 'test', version: 1, lease_owner: null },
} as unknown as Wake

function subject(uid: string, owner_uid: string | null, status: object, ownerJob: string | undefined): SubjectState {
  const object = { uid, owner_uid, namespace: 'n', name: 'root', deleted: false, projection: { status } }
  return {
    object: object as unknown as JournaledObject,
    owner: owner_uid === null ? 'gone' : 'present',
    jobsAbove: [ownerJob],
  }
}

function openJob(controller: string, uid: string, job_id = 'job'): Job {
  return { ...job({ controller, uid, job_id, workflow_id: `${controller}/${uid}/${job_id}` }) } as unknown as Job
}
