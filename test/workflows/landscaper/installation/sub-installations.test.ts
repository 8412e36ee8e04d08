// Tests the steps of an Installation's job that handle sub-installations. Source: spec/landscaper.md 2.3, 2.4, 2.11.

import { describe, expect, it } from 'vitest'
import { beginInstallation } from '../../../../workflows/landscaper/installation/begin-installation.ts'
import { awaitChildren } from '../../../../workflows/landscaper/installation/await-children.ts'
import {
  awaitDeletion,
  awaitSuccessors,
  deleteChildren,
} from '../../../../workflows/landscaper/installation/delete-children.ts'
import { interruptInstallation } from '../../../../workflows/landscaper/installation/interrupt-installation.ts'
import {
  cleanUpSubInstallations,
  triggerSubInstallations,
} from '../../../../workflows/landscaper/installation/sub-installations.ts'
import { applyChildren } from '../../../../workflows/landscaper/installation/apply-children.ts'
import { again, done, fail, stop } from '../../../../workflows/kit/index.ts'
import { EXECUTION, installationPass, JOB, SUB } from './installation-pass.ts'

const IDLE_SUB = { ...SUB, jobID: 'job-1', phase: 'Succeeded' }
const FINISHED = { ...SUB, jobIDFinished: JOB, phase: 'Succeeded' }
const LEAVING = { ...IDLE_SUB, deleting: true }
const WANTED = { template: 'sub', name: 'sub-1' }
const SETTLED = { phase: 'ObjectsCreated' }
const SUCCEEDED = { ...EXECUTION, jobIDFinished: JOB, phase: 'Succeeded' }

describe('the sub-installations of a job', () => {
  it('get the job after the status has their source', async () => {
    const early = installationPass({ state: { subInstallations: [IDLE_SUB] } })
    expect(await triggerSubInstallations(early.pass)).toEqual(again(0))
    const { pass, calls } = installationPass({ target: SETTLED, state: { subInstallations: [IDLE_SUB] } })
    expect(await triggerSubInstallations(pass)).toEqual(done)
    expect([early.calls, calls]).toEqual([[], ['triggerSubInstallations sub-1']])
    expect(pass.state.subInstallations).toMatchObject([{ name: 'sub-1', jobID: JOB }])
  })

  it('get it also if a user deletes them before: they are uninstalled in it', async () => {
    const { pass, calls } = installationPass({ target: SETTLED, state: { subInstallations: [LEAVING] } })
    expect(await triggerSubInstallations(pass)).toEqual(done)
    expect(calls).toEqual(['triggerSubInstallations sub-1'])
    expect(awaitChildren(pass)).toEqual(stop('waiting for Execution "root" and sub-installations sub-1'))
  })

  it('get it only once, and those with another job are waited for', async () => {
    const had = installationPass({ target: SETTLED, state: { subInstallations: [SUB] } })
    expect(await triggerSubInstallations(had.pass)).toEqual(done)
    const busy = { ...SUB, jobID: 'by-hand' }
    const other = installationPass({ target: SETTLED, state: { subInstallations: [busy] } })
    expect(await triggerSubInstallations(other.pass)).toEqual(
      stop('waiting until sub-installations have finished another job: sub-1'),
    )
    expect([had.calls, other.calls]).toEqual([[], []])
  })

  it('are waited for like the execution; all of them, also after one has failed', () => {
    const failed = { ...FINISHED, phase: 'Failed', error: 'no' }
    const two = { ...SUB, uid: 'uid-2', name: 'sub-2' }
    const wantedSubs = [WANTED, { template: 'two', name: 'sub-2' }]
    const waiting = installationPass({ execution: SUCCEEDED, state: { subInstallations: [failed, two], wantedSubs } })
    expect(awaitChildren(waiting.pass)).toEqual(stop('waiting for sub-installations sub-2'))
    const both = installationPass({ state: { subInstallations: [failed, two], wantedSubs } })
    expect(awaitChildren(both.pass)).toEqual(stop('waiting for Execution "root" and sub-installations sub-2'))
    const over = installationPass({
      execution: SUCCEEDED,
      state: { subInstallations: [failed, { ...FINISHED, uid: 'uid-2', name: 'sub-2' }], wantedSubs },
    })
    expect(awaitChildren(over.pass)).toEqual(fail('ChildrenFailed', 'Installation "sub-1" failed: no'))
    const gone = installationPass({ execution: SUCCEEDED, state: { subInstallations: [FINISHED], wantedSubs } })
    expect(awaitChildren(gone.pass)).toEqual(
      fail('ChildrenFailed', 'Installation "sub-2" was deleted during the job; reconcile to create it again'),
    )
    const reason = 'SubInstallationsNotFound'
    expect(gone.pass.draft.conditions).toMatchObject([{ type: 'EnsureSubInstallations', status: 'False', reason }])
  })

  it('count as missing if a user deletes them during the job', async () => {
    const applied = { result: 'applied' as const, execution: undefined, subInstallations: [], wantedSubs: [WANTED] }
    const act = { applyChildren: () => Promise.resolve(applied) }
    const { pass } = installationPass({ execution: undefined, act })
    expect(await applyChildren(pass)).toEqual(done)
    const activeSubs = [{ specName: 'sub', objectName: 'sub-1' }]
    expect(pass.draft.fields['subInstCache']).toEqual({ activeSubs, orphanedSubs: [] })
    // The status must list the sub-installations before an item starts.
    expect(await triggerSubInstallations(pass)).toEqual(again(0))
    expect(awaitChildren(pass).faults).toMatchObject([{ code: 'ChildrenFailed' }])
  })

  it('are reported in a short message, however many have failed', () => {
    const many = Array.from({ length: 200 }, (_, index) => ({
      ...FINISHED,
      phase: 'Failed',
      error: 'x'.repeat(1000),
      uid: `uid-${index}`,
      name: `sub-${index}`,
    }))
    const { pass } = installationPass({ execution: SUCCEEDED, state: { subInstallations: many, wantedSubs: [] } })
    const [fault] = awaitChildren(pass).faults
    expect(fault?.message).toMatch(/ \| and 190 more$/)
    expect(fault?.message.length).toBeLessThan(4200)
  })

  it('that cannot be created are reported in the condition', async () => {
    const refused = { result: 'refused' as const, of: 'subInstallations' as const, code: 'NameTaken', message: 'no' }
    const { pass } = installationPass({ execution: undefined, act: { applyChildren: () => Promise.resolve(refused) } })
    expect(await applyChildren(pass)).toEqual(fail('NameTaken', 'no'))
    const condition = { type: 'EnsureSubInstallations', status: 'False', reason: 'InstallationCreatingFailed' }
    expect(pass.draft.conditions).toEqual([{ ...condition, message: 'no' }])
  })

  it('that the blueprint no longer has get the job of their deletion, and are waited for', async () => {
    const orphan = installationPass({ state: { subInstallations: [LEAVING] } })
    const waiting = stop('waiting until these sub-installations are uninstalled: sub-1')
    expect(await cleanUpSubInstallations(orphan.pass)).toEqual(waiting)
    expect(await cleanUpSubInstallations(orphan.pass)).toEqual(waiting)
    expect(orphan.calls).toEqual(['triggerSubInstallations sub-1'])
    const stuck = { ...FINISHED, deleting: true, phase: 'DeleteFailed', error: 'no' }
    const failed = installationPass({ state: { subInstallations: [stuck] } })
    expect((await cleanUpSubInstallations(failed.pass)).faults).toMatchObject([{ code: 'OrphanedSubInstallations' }])
    expect(failed.pass.draft.conditions).toMatchObject([{ status: 'False', reason: 'InstallationNotDeleted' }])
    const none = installationPass({ state: { subInstallations: [SUB] } })
    expect(await cleanUpSubInstallations(none.pass)).toEqual(done)
  })

  it('are named in the status, with those that are being deleted', async () => {
    const orphan = { ...LEAVING, uid: 'uid-0', name: 'sub-0' }
    const subInstallations = [orphan, IDLE_SUB]
    const applied = { result: 'applied' as const, execution: undefined, subInstallations, wantedSubs: [WANTED] }
    const { pass } = installationPass({ execution: undefined, act: { applyChildren: () => Promise.resolve(applied) } })
    expect(await applyChildren(pass)).toEqual(done)
    expect(pass.draft.fields['subInstCache']).toEqual({
      activeSubs: [{ specName: 'sub', objectName: 'sub-1' }],
      orphanedSubs: ['sub-0'],
    })
    expect(pass.draft.conditions).toMatchObject([{ type: 'EnsureSubInstallations', status: 'True' }])
  })
})

describe('a job that waits for siblings', () => {
  const waiting = { result: 'waiting' as const, reason: 'waiting for siblings whose exports it imports: a' }
  const act = { applyChildren: () => Promise.resolve(waiting) }

  it('waits', async () => {
    expect(await applyChildren(installationPass({ act, execution: undefined }).pass)).toEqual(stop(waiting.reason))
  })

  it.each(['Init', 'CleanupOrphaned', 'InitDelete'])('can be interrupted in %s', async (phase) => {
    const { pass, calls } = installationPass({ execution: undefined, target: { interruptRequested: true, phase } })
    expect((await interruptInstallation(pass)).faults).toMatchObject([{ code: 'InterruptOperation' }])
    expect(calls).toEqual(['takeInterruptOff'])
  })
})

describe('an interrupt', () => {
  it('is handed down to running ones once, and removed', async () => {
    const given = { execution: undefined, target: { interruptRequested: true }, state: { subInstallations: [SUB] } }
    const { pass, calls } = installationPass(given)
    expect(await interruptInstallation(pass)).toEqual(done)
    expect(await interruptInstallation(pass)).toEqual(done)
    expect(calls).toEqual(['interruptSubInstallations sub-1', 'takeInterruptOff'])
  })

  it('stays while others have not started, until the running ones have ended; nothing else starts', async () => {
    const interrupted = { interruptRequested: true }
    const idle = { ...IDLE_SUB, uid: 'uid-2', name: 'sub-2' }
    const execution = { ...EXECUTION, jobID: 'job-1' }
    const waiting = stop('interrupted: waiting for the end of sub-installations sub-1')
    const half = { execution: undefined, target: { ...interrupted, ...SETTLED } }
    const some = installationPass({ ...half, state: { subInstallations: [SUB, idle] } })
    const other = installationPass({ execution, target: interrupted, state: { subInstallations: [SUB] } })
    for (const { pass, calls } of [some, other]) {
      expect(await interruptInstallation(pass)).toEqual(waiting)
      expect(calls).toEqual(['interruptSubInstallations sub-1'])
    }
    const over = installationPass({ ...half, state: { subInstallations: [FINISHED, idle] } })
    expect((await interruptInstallation(over.pass)).faults).toMatchObject([{ code: 'InterruptOperation' }])
    expect(over.calls).toEqual(['takeInterruptOff'])
  })

  it('reaches those that are being uninstalled before anything is created', async () => {
    const leaving = { ...SUB, deleting: true, phase: 'Deleting' }
    const { pass, calls } = installationPass({
      target: { interruptRequested: true, phase: 'Init' },
      execution: undefined,
      state: { subInstallations: [leaving] },
    })
    expect(await interruptInstallation(pass)).toEqual(
      stop('interrupted: waiting for the end of sub-installations sub-1'),
    )
    expect(calls).toEqual(['interruptSubInstallations sub-1'])
  })

  it('of a sub-installation belongs to this job: its parent has removed older ones', async () => {
    const target = { interruptRequested: true, phase: 'Init', hasParent: true }
    const { pass, calls } = installationPass({ target })
    await beginInstallation(pass)
    expect([calls, pass.state.target.interruptRequested]).toEqual([[], true])
  })

  it('ends the job before any of them has it', async () => {
    const given = {
      execution: undefined,
      target: { interruptRequested: true },
      state: { subInstallations: [IDLE_SUB] },
    }
    expect((await interruptInstallation(installationPass(given).pass)).faults).toMatchObject([
      { code: 'InterruptOperation' },
    ])
  })
})

describe('the deletion of an installation with sub-installations', () => {
  const deleting = { deleting: true, phase: 'Deleting' }

  it('deletes them, hands them its job and waits until they are deleted', async () => {
    const { pass, calls } = installationPass({
      execution: undefined,
      target: deleting,
      state: { subInstallations: [IDLE_SUB] },
    })
    expect(await deleteChildren(pass)).toEqual(done)
    expect(await triggerSubInstallations(pass)).toEqual(done)
    expect(await awaitDeletion(pass)).toEqual(stop('waiting for the deletion of sub-installations sub-1'))
    expect(calls).toEqual(['deleteSubInstallations sub-1', 'triggerSubInstallations sub-1'])
  })

  it('fails with those that could not be deleted, after all have tried', async () => {
    const stuck = { ...FINISHED, deleting: true, phase: 'DeleteFailed', error: 'no' }
    const { pass } = installationPass({ execution: undefined, target: deleting, state: { subInstallations: [stuck] } })
    expect((await awaitDeletion(pass)).faults).toMatchObject([
      { code: 'UndeletedSubobjects', message: 'Installation "sub-1" could not be deleted: no' },
    ])
  })

  it('waits for siblings that import from it, and fails with them', async () => {
    const target = { ...deleting, hasParent: true, awaitsSuccessors: true }
    const looking = (unfinished: readonly string[], failed: readonly string[]) =>
      installationPass({ target, act: { lookForSuccessors: () => Promise.resolve({ unfinished, failed }) } }).pass
    expect(await awaitSuccessors(looking(['a'], []))).toEqual(
      stop('waiting for the deletion of siblings that import from this installation: a'),
    )
    expect((await awaitSuccessors(looking([], ['a is DeleteFailed']))).faults).toMatchObject([
      { code: 'SuccessorsNotDeleted' },
    ])
    expect(await awaitSuccessors(looking([], []))).toEqual(done)
    const none = installationPass({ target: { ...target, awaitsSuccessors: false } })
    expect([await awaitSuccessors(none.pass), none.calls]).toEqual([done, []])
  })
})
