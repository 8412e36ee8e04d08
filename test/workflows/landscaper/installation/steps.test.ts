// The steps of an Installation after its begin, with fake activities.

import { describe, expect, it } from 'vitest'
import { applyChildren } from '../../../../workflows/landscaper/installation/apply-children.ts'
import { awaitDeletion, deleteChildren } from '../../../../workflows/landscaper/installation/delete-children.ts'
import { awaitChildren, checkGeneration } from '../../../../workflows/landscaper/installation/await-children.ts'
import type { InstallationActivities } from '../../../../workflows/landscaper/installation/pass.ts'
import {
  abandonExports,
  interruptInstallation,
  yieldToDeletion,
} from '../../../../workflows/landscaper/installation/interrupt-installation.ts'
import { FINALIZER } from '../../../../workflows/landscaper/contract.ts'
import { writeExports } from '../../../../workflows/landscaper/installation/write-exports.ts'
import { again, done, fail, GONE, stop } from '../../../../workflows/kit/index.ts'
import { EXECUTION, IDLE, installationPass, ITEM, JOB, SUB } from './installation-pass.ts'

const lastError = { operation: 'applyChildren', reason: 'RegistryUnavailable', message: 'no answer' }
const UNREADABLE = { deleting: true, hasParent: true, lastError }

describe('an installation in phase Init', () => {
  it('applies its execution, and references it', async () => {
    const { pass } = installationPass({ target: { generation: 4 }, execution: undefined })
    expect(await applyChildren(pass)).toEqual(done)
    expect(pass.state.execution).toEqual(EXECUTION)
    expect(pass.draft).toMatchObject({
      observedGeneration: 4,
      fields: { executionRef: { name: 'root', namespace: 'n' } },
    })
  })

  it('stores the hash of its imports', async () => {
    const importsHash = 'b6589fc6'
    const applied = { result: 'applied' as const, execution: EXECUTION, subInstallations: [], importsHash }
    const { pass } = installationPass({ act: { applyChildren: () => Promise.resolve(applied) } })
    expect(await applyChildren(pass)).toEqual(done)
    expect(pass.draft.fields).toMatchObject({ importsHash })
    expect(pass.draft.conditions.map(({ type, status, reason }) => [type, status, reason])).toEqual([
      ['ReconcileExecution', 'True', 'ExecutionDeployed'],
      ['ValidateImports', 'True', 'ImportsSatisfied'],
      ['EnsureSubInstallations', 'True', 'InstallationsInstalled'],
    ])
  })

  it('reports that its imports are rejected', async () => {
    const code = 'ImportNotFound'
    const message = 'spec.imports.data[0] "size": DataObject "n/size" does not exist; create it'
    const act = {
      applyChildren: () => Promise.resolve({ result: 'refused' as const, of: 'imports' as const, code, message }),
    }
    const refused = installationPass({ act })
    expect(await applyChildren(refused.pass)).toEqual(fail(code, message))
    const condition = { type: 'ValidateImports', status: 'False', reason: 'ImportValidationFailed', message }
    expect(refused.pass.draft).toMatchObject({ conditions: [condition], fields: {} })
  })

  it('waits while it cannot be rendered', async () => {
    const act = {
      applyChildren: () => Promise.resolve({ result: 'waiting' as const, reason: 'the old one is leaving' }),
    }
    const { pass } = installationPass({ act })
    expect(await applyChildren(pass)).toEqual(stop('the old one is leaving'))
    expect(pass.draft.fields).toEqual({})
  })

  it('reads the items of an adopted execution in the next pass', async () => {
    const { pass } = installationPass({ act: { applyChildren: () => Promise.resolve({ result: 'adopted' as const }) } })
    expect(await applyChildren(pass)).toEqual(again(0))
    expect(pass.draft.fields).toEqual({})
  })

  it.each([
    ['ends its job when it is deleted before anything began', { deleting: true }, IDLE, 'InterruptOperation'],
    ['continues when its parent waits for it', { deleting: true, hasParent: true }, IDLE, undefined],
    ['ends its job when its parent waits for it and an object cannot be read', UNREADABLE, IDLE, 'InterruptOperation'],
    ['continues when an item has begun', { deleting: true }, EXECUTION, undefined],
    ['continues when it is not deleted', {}, IDLE, undefined],
  ])('%s', (_, target, execution, code) => {
    const { faults } = yieldToDeletion(installationPass({ target, execution }).pass)
    expect(faults.map((fault) => fault.code)).toEqual(code === undefined ? [] : [code])
  })
})

describe('an installation in phase Progressing', () => {
  const finished = { ...EXECUTION, jobIDFinished: JOB }

  it.each([
    ['has another job', { ...finished, jobID: 'job-1' }],
    ['has not finished this one', { ...finished, jobIDFinished: 'job-1' }],
  ])('waits while its execution %s', (_, execution) => {
    expect(awaitChildren(installationPass({ execution }).pass)).toEqual(stop('waiting for Execution "root"'))
  })

  it('fails if its execution is missing, and waits for none if it rendered no items', async () => {
    const missing = fail(
      'ExecutionMissing',
      'Execution "root" was deleted during the job; reconcile to create it again',
    )
    expect(awaitChildren(installationPass({ execution: undefined }).pass)).toEqual(missing)
    // The status says so: the run that has rendered may have been lost.
    expect(awaitChildren(installationPass({ execution: undefined, target: { hasExecution: false } }).pass)).toEqual(
      done,
    )
    const applied = { result: 'applied' as const, execution: undefined, subInstallations: [] }
    const act = { applyChildren: () => Promise.resolve(applied) }
    const { pass } = installationPass({ execution: undefined, act })
    await applyChildren(pass)
    expect(pass.draft.fields).toMatchObject({ executionRef: null })
    expect(awaitChildren(pass)).toEqual(done)
  })

  it('continues after a success of the execution, and fails otherwise', () => {
    expect(awaitChildren(installationPass({ execution: { ...finished, phase: 'Succeeded' } }).pass)).toEqual(done)
    const message = 'Execution "root" failed'
    expect(awaitChildren(installationPass({ execution: { ...finished, phase: 'Failed' } }).pass)).toEqual(
      fail('ChildrenFailed', message),
    )
    const told = { ...finished, phase: 'Failed', error: 'db: no disk' }
    expect(awaitChildren(installationPass({ execution: told }).pass)).toEqual(
      fail('ChildrenFailed', `${message}: db: no disk`),
    )
  })
})

describe('an installation in phase Completing', () => {
  it('fails if its spec was changed during the job', () => {
    expect(checkGeneration(installationPass().pass)).toEqual(done)
    const { faults } = checkGeneration(installationPass({ target: { generation: 9 } }).pass)
    expect(faults).toMatchObject([{ code: 'CheckObservedGeneration', retryable: false }])
  })

  it.each([
    [
      'ends a job whose exports failed when it is interrupted',
      { interruptRequested: true, lastError },
      ['takeInterruptOff'],
      'operation was interrupted before the exports were written; the exports failed: no answer',
    ],
    [
      'ends a job whose exports failed when it is deleted',
      { deleting: true, lastError },
      [],
      'the installation was deleted before its exports were written; the deletion follows; the exports failed: no answer',
    ],
    ['retries failed exports otherwise', { lastError }, [], undefined],
    ['ignores an interrupt before the exports failed', { interruptRequested: true }, [], undefined],
    ['ignores a deletion before the exports failed', { deleting: true }, [], undefined],
  ])('%s', async (_, target, called, message) => {
    const { pass, calls } = installationPass({ target })
    pass.draft.lastError = pass.state.target.lastError
    expect(await abandonExports(pass)).toEqual(message === undefined ? done : fail('InterruptOperation', message))
    expect(calls).toEqual(called)
  })

  it('writes exports if the spec lists some', async () => {
    const none = installationPass()
    expect(await writeExports(none.pass)).toEqual(done)
    const some = installationPass({ target: { exports: true } })
    expect(await writeExports(some.pass)).toEqual(done)
    expect([none.calls, some.calls]).toEqual([[], ['writeExports']])
  })

  it.each([
    [true, { ...EXECUTION, hasExports: true }],
    [false, EXECUTION],
    [false, undefined],
  ])('tells the activity whether its execution has exports: %j', async (expected, execution) => {
    const told: boolean[] = []
    const act: Partial<InstallationActivities> = {
      writeExports: ({ hasItemExports }) => {
        told.push(hasItemExports)
        return Promise.resolve({ imports: false })
      },
    }
    await writeExports(installationPass({ target: { exports: true }, execution, act }).pass)
    expect(told).toEqual([expected])
  })

  it('checks its imports against the hash of the same pass, or else against the hash in the status', async () => {
    const hashes: (string | undefined)[] = []
    const act: Partial<InstallationActivities> = {
      writeExports: ({ importsHash }) => {
        hashes.push(importsHash)
        return Promise.resolve({ imports: true })
      },
    }
    const observed = installationPass({ target: { importsHash: 'observed' }, act })
    expect(await writeExports(observed.pass)).toEqual(done)
    const folded = installationPass({ target: { importsHash: 'observed' }, act })
    folded.pass.draft.fields['importsHash'] = 'folded'
    expect(await writeExports(folded.pass)).toEqual(done)
    expect(hashes).toEqual(['observed', 'folded'])
    expect(observed.pass.draft.fields).toEqual({})
  })

  it('removes the hash if there are no imports any more', async () => {
    const act = { writeExports: () => Promise.resolve({ imports: false }) }
    const { pass } = installationPass({ target: { importsHash: 'before' }, act })
    expect(await writeExports(pass)).toEqual(done)
    expect(pass.draft.fields).toEqual({ importsHash: null })
  })
})

describe('the deletion of an installation', () => {
  it('deletes its execution once, and again for a request to release its items', async () => {
    const leaving = { ...EXECUTION, deleting: true }
    const first = installationPass()
    expect(await deleteChildren(first.pass)).toEqual(done)
    const repeated = installationPass({ execution: leaving })
    expect(await deleteChildren(repeated.pass)).toEqual(done)
    const forced = installationPass({ execution: leaving, target: { withoutUninstall: true } })
    expect(await deleteChildren(forced.pass)).toEqual(done)
    expect([first.calls, repeated.calls, forced.calls]).toEqual([['deleteExecution'], [], ['deleteExecution']])
  })

  it('deletes nothing while Kubernetes removes the owner references of the children, for --cascade=orphan', async () => {
    const orphaning = installationPass({ target: { finalizers: [FINALIZER, 'orphan'] } })
    const reason = "waiting for Kubernetes' garbage collector to remove the owner references of the children"
    expect(await deleteChildren(orphaning.pass)).toEqual(stop(reason))
    expect(orphaning.calls).toEqual([])
  })

  it('waits for its execution, and fails if the execution failed', async () => {
    expect(await awaitDeletion(installationPass().pass)).toEqual(stop('waiting for the deletion of Execution "root"'))
    const stuck = { ...EXECUTION, jobIDFinished: JOB, phase: 'DeleteFailed' }
    const { faults } = await awaitDeletion(installationPass({ execution: stuck }).pass)
    expect(faults).toEqual([
      {
        code: 'UndeletedSubobjects',
        message: 'Execution "root" could not be deleted',
        retryable: false,
      },
    ])
  })

  it('removes its finalizer last, and leaves finalizers of other controllers', async () => {
    const released = installationPass({ execution: undefined, act: { guardSubject: () => Promise.resolve(undefined) } })
    expect(await awaitDeletion(released.pass)).toEqual(stop(GONE))
    const held = installationPass({ execution: undefined })
    expect(await awaitDeletion(held.pass)).toEqual(again(0))
    const theirs = installationPass({ execution: undefined, target: { finalizers: ['theirs'] } })
    expect(await awaitDeletion(theirs.pass)).toEqual(stop('waiting until other controllers remove their finalizers'))
    expect([held.calls, theirs.calls]).toEqual([['guardSubject'], []])
  })
})

describe('an interrupted installation', () => {
  const interrupted = { interruptRequested: true }
  const interruption = fail('InterruptOperation', 'operation was interrupted')

  it('ends its job before its execution or an item has it, and starts nothing', async () => {
    const { pass, calls } = installationPass({ target: interrupted, execution: IDLE })
    expect(await interruptInstallation(pass)).toEqual(interruption)
    expect(pass.state.target.interruptRequested).toBe(false)
    expect(calls).toEqual(['takeInterruptOff'])
  })

  it('leaves the interrupt to the pass over its execution while that runs the job', async () => {
    const running = installationPass({ target: interrupted })
    const begun = installationPass({ target: interrupted, execution: IDLE, state: { deployItems: [ITEM] } })
    for (const { pass, calls } of [running, begun]) {
      expect(await interruptInstallation(pass)).toEqual(done)
      expect(calls).toEqual([])
    }
  })

  it('ends nothing without an execution, or if the execution has ended', async () => {
    const finished = installationPass({ target: interrupted, execution: { ...EXECUTION, jobIDFinished: JOB } })
    const alone = installationPass({ target: interrupted, execution: undefined })
    for (const { pass, calls } of [finished, alone]) {
      expect(await interruptInstallation(pass)).toEqual(done)
      expect(calls).toEqual(['takeInterruptOff'])
    }
  })

  it('runs another pass if it is deleted or has another job', async () => {
    const act = { interruptInstallation: () => Promise.resolve(undefined) }
    expect(await interruptInstallation(installationPass({ target: interrupted, execution: IDLE, act }).pass)).toEqual(
      again(0),
    )
  })

  it('is interrupted by its deletion while no sub-installation has begun to deploy', async () => {
    const deleted = (phase: string, jobIDFinished = 'job-1') =>
      installationPass({
        target: { deleting: true },
        execution: undefined,
        state: { subInstallations: [{ ...SUB, jobID: JOB, jobIDFinished, phase }] },
      })
    const waiting = deleted('Init')
    expect(await interruptInstallation(waiting.pass)).toEqual(
      stop(`deleted: waiting for the end of sub-installations ${SUB.name}`),
    )
    expect(waiting.calls).toEqual([`interruptSubInstallations ${SUB.name}`])
    expect((await interruptInstallation(deleted('Failed', JOB).pass)).faults).toMatchObject([
      { code: 'InterruptOperation' },
    ])
    const deploying = deleted('Progressing')
    expect(await interruptInstallation(deploying.pass)).toEqual(done)
    expect(deploying.calls).toEqual([])
  })

  it('does nothing without the annotation', async () => {
    const { pass, calls } = installationPass()
    expect(await interruptInstallation(pass)).toEqual(done)
    expect(calls).toEqual([])
  })
})
