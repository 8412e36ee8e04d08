// The steps of an Installation, with fake activities: above all its first two writes, between which it may crash.

import { describe, expect, it } from 'vitest'

import type { ChildExecution, InstallationView } from '../../../activities/installation/views.ts'
import { FINALIZER } from '../../../workflows/deploy-item/kind.ts'
import { applyExecution } from '../../../workflows/installation/apply-execution.ts'
import { awaitDeletion } from '../../../workflows/installation/await-deletion.ts'
import { awaitExecution } from '../../../workflows/installation/await-execution.ts'
import { beginInstallation } from '../../../workflows/installation/begin-installation.ts'
import { checkGeneration } from '../../../workflows/installation/check-generation.ts'
import type {
  InstallationActivities,
  InstallationPass,
  InstallationState,
} from '../../../workflows/installation/controller.ts'
import { deleteExecution } from '../../../workflows/installation/delete-execution.ts'
import { interruptInstallation } from '../../../workflows/installation/interrupt-installation.ts'
import { triggerExecution } from '../../../workflows/installation/trigger-execution.ts'
import { writeExports } from '../../../workflows/installation/write-exports.ts'
import { again, done, fail, GONE, stop, SUPERSEDED } from '../../../workflows/kit/index.ts'

const JOB = 'job-2'

describe('the begin of an installation’s job', () => {
  const idle = {
    phase: 'Succeeded',
    jobID: 'job-1',
    jobIDFinished: 'job-1',
    trigger: 'reconcile',
    reconcileRequested: true,
  }

  it('is two writes on an idle installation that is triggered: status, then metadata', async () => {
    const { pass, calls } = installationPass({ target: { ...idle, finalizers: [], hasContext: false } })
    expect(await beginInstallation(pass)).toEqual(done)
    expect(calls).toEqual(['beginJob 10', 'adoptInstallation 11'])
    expect(pass.draft).toMatchObject({ phase: 'Init', observedGeneration: 3, lastError: undefined })
    expect(pass.state.target).toMatchObject({
      jobID: JOB,
      version: '12',
      finalizers: [FINALIZER],
      reconcileRequested: false,
    })
  })

  it('takes the request off also after a job that failed', async () => {
    const lastError = { operation: 'handlePhaseCompleting', reason: 'ExportConflict', message: 'taken' }
    const { pass, calls } = installationPass({ target: { ...idle, phase: 'Failed', lastError } })
    expect(await beginInstallation(pass)).toEqual(done)
    expect(calls).toEqual(['beginJob 10', 'adoptInstallation 11'])
  })

  it('makes the second write again when a crash came between them', async () => {
    const begun = {
      phase: 'Init',
      jobID: JOB,
      reconcileRequested: true,
      finalizers: [],
      observedGeneration: 2,
      generation: 2,
    }
    const { pass, calls } = installationPass({ target: begun })
    expect(await beginInstallation(pass)).toEqual(done)
    expect(calls).toEqual(['adoptInstallation 10'])
  })

  it('makes no write when both are made', async () => {
    const { pass, calls } = installationPass({ target: { phase: 'Init' } })
    expect(await beginInstallation(pass)).toEqual(done)
    expect(calls).toEqual([])
  })

  it('leaves an annotation to the next job that came after the first settle, or with another generation', async () => {
    const later = { reconcileRequested: true }
    for (const target of [
      { ...later, phase: 'Progressing' },
      { ...later, phase: 'Init', generation: 5 },
      {
        ...later,
        phase: 'Init',
        lastError: { operation: 'handlePhaseInit', reason: 'NoAnswer', message: 'no answer' },
      },
    ]) {
      const { pass, calls } = installationPass({ target })
      expect(await beginInstallation(pass)).toEqual(done)
      expect(calls).toEqual([])
    }
  })

  it('leaves an annotation to the next job that came after this run took its own off', async () => {
    const { pass, calls } = installationPass({
      target: { phase: 'Init', reconcileRequested: true },
      state: { isAdopted: true },
    })
    expect(await beginInstallation(pass)).toEqual(done)
    expect(calls).toEqual([])
  })

  it('takes the request off once: one that comes while the job waits in Init is the next job’s', async () => {
    const { pass, calls } = installationPass({ target: { phase: 'Init', reconcileRequested: true } })
    await beginInstallation(pass)
    pass.state = { ...pass.state, target: { ...pass.state.target, reconcileRequested: true } }
    expect(await beginInstallation(pass)).toEqual(done)
    expect(calls).toEqual(['adoptInstallation 10'])
  })

  it('puts no finalizer and no default on what is being deleted', async () => {
    const { pass, calls } = installationPass({
      target: { ...idle, deleting: true, finalizers: [], hasContext: false, reconcileRequested: false },
    })
    expect(await beginInstallation(pass)).toEqual(done)
    expect(calls).toEqual(['beginJob 10'])
    expect(pass.draft.phase).toBe('InitDelete')
  })

  it.each([
    ['has another job', { jobID: 'other' }],
    ['is idle without a trigger', { ...idle, trigger: undefined }],
  ])('is refused when the installation %s', async (_, target) => {
    const { pass, calls } = installationPass({ target })
    expect(await beginInstallation(pass)).toEqual(stop(SUPERSEDED))
    expect(calls).toEqual([])
  })

  it('is refused when another run wrote first', async () => {
    const beginJob = () => Promise.resolve(undefined)
    expect(await beginInstallation(installationPass({ target: idle, act: { beginJob } }).pass)).toEqual(
      stop(SUPERSEDED),
    )
    const adoptInstallation = () => Promise.resolve(undefined)
    const half = installationPass({ target: { phase: 'Init', finalizers: [] }, act: { adoptInstallation } })
    expect(await beginInstallation(half.pass)).toEqual(stop(SUPERSEDED))
  })
})

describe('an installation in phase Init', () => {
  it('has its execution applied, and refers to it', async () => {
    const { pass } = installationPass({ target: { generation: 4 }, execution: undefined })
    expect(await applyExecution(pass)).toEqual(done)
    expect(pass.state.execution).toEqual(EXECUTION)
    expect(pass.draft).toMatchObject({
      observedGeneration: 4,
      fields: { executionRef: { name: 'root', namespace: 'n' } },
    })
  })

  it('keeps the hash of its imports', async () => {
    const importsHash = 'b6589fc6'
    const applied = { result: 'applied' as const, execution: EXECUTION, importsHash }
    const { pass } = installationPass({ act: { applyExecution: () => Promise.resolve(applied) } })
    expect(await applyExecution(pass)).toEqual(done)
    expect(pass.draft.fields).toMatchObject({ importsHash })
    expect(pass.draft.conditions).toEqual([])
  })

  it('says that its imports are refused, and once they are not any more', async () => {
    const code = 'ImportNotFound'
    const message = 'spec.imports.data[0] "size": found no DataObject n/size'
    const act = { applyExecution: () => Promise.resolve({ result: 'refused' as const, code, message }) }
    const refused = installationPass({ act })
    expect(await applyExecution(refused.pass)).toEqual(fail(code, message))
    const condition = { type: 'ValidateImports', status: 'False', reason: 'ImportValidationFailed', message }
    expect(refused.pass.draft).toMatchObject({ conditions: [condition], fields: {} })
    const mended = installationPass({ target: { importsRefused: true } })
    expect(await applyExecution(mended.pass)).toEqual(done)
    expect(mended.pass.draft.conditions).toMatchObject([{ type: 'ValidateImports', status: 'True' }])
  })

  it('waits while it cannot be', async () => {
    const act = {
      applyExecution: () => Promise.resolve({ result: 'waiting' as const, reason: 'the old one is leaving' }),
    }
    const { pass } = installationPass({ act })
    expect(await applyExecution(pass)).toEqual(stop('the old one is leaving'))
    expect(pass.draft.fields).toEqual({})
  })
})

describe('an installation that hands its job ID down', () => {
  it('does so once', async () => {
    const { pass, calls } = installationPass({ execution: { ...EXECUTION, jobID: 'job-1' } })
    expect(await triggerExecution(pass)).toEqual(done)
    expect(await triggerExecution(pass)).toEqual(done)
    expect(calls).toEqual(['triggerExecution'])
  })

  it('waits while its execution runs another job', async () => {
    const { pass, calls } = installationPass({ execution: { ...EXECUTION, jobID: 'other' } })
    expect(await triggerExecution(pass)).toEqual(stop('waiting for execution root to finish another job'))
    expect(calls).toEqual([])
  })

  it('waits while its execution runs another job, and hands it over when that has ended', async () => {
    const busy = installationPass({ execution: { ...EXECUTION, jobID: 'other' } })
    expect(await triggerExecution(busy.pass)).toEqual(stop('waiting for execution root to finish another job'))
    const idle = installationPass({ execution: { ...EXECUTION, jobID: 'other', jobIDFinished: 'other' } })
    expect(await triggerExecution(idle.pass)).toEqual(done)
    expect([busy.calls, idle.calls]).toEqual([[], ['triggerExecution']])
  })

  it('has nobody to hand it to without an execution', async () => {
    const { pass, calls } = installationPass({ execution: undefined })
    expect(await triggerExecution(pass)).toEqual(done)
    expect(calls).toEqual([])
  })
})

describe('an installation in phase Progressing', () => {
  const finished = { ...executionOfJob(), jobIDFinished: JOB }

  it.each([
    ['has another job', { ...finished, jobID: 'job-1' }],
    ['has not finished this one', { ...finished, jobIDFinished: 'job-1' }],
  ])('waits while its execution %s', (_, execution) => {
    expect(awaitExecution(installationPass({ execution }).pass)).toEqual(stop('waiting for execution root'))
  })

  it('fails when its execution is gone, and has none to wait for when it rendered no items', () => {
    const { pass } = installationPass({ execution: undefined })
    expect(awaitExecution(pass)).toEqual(fail('ExecutionMissing', 'execution root is gone'))
    pass.state = { ...pass.state, isEmpty: true }
    expect(awaitExecution(pass)).toEqual(done)
  })

  it('goes on when it succeeded, fails when it did not', () => {
    expect(awaitExecution(installationPass({ execution: { ...finished, phase: 'Succeeded' } }).pass)).toEqual(done)
    const message = 'execution root is Failed; expected Succeeded'
    expect(awaitExecution(installationPass({ execution: { ...finished, phase: 'Failed' } }).pass)).toEqual(
      fail('ChildrenFailed', message),
    )
    const told = { ...finished, phase: 'Failed', error: 'db: no disk' }
    expect(awaitExecution(installationPass({ execution: told }).pass)).toEqual(
      fail('ChildrenFailed', `${message}: db: no disk`),
    )
  })
})

describe('an installation in phase Completing', () => {
  it('fails when its spec was changed during the job', () => {
    expect(checkGeneration(installationPass().pass)).toEqual(done)
    const { faults } = checkGeneration(installationPass({ target: { generation: 9 } }).pass)
    expect(faults).toMatchObject([{ code: 'CheckObservedGeneration', retryable: false }])
  })

  it('writes exports when it lists some', async () => {
    const none = installationPass()
    expect(await writeExports(none.pass)).toEqual(done)
    const some = installationPass({ target: { exports: true } })
    expect(await writeExports(some.pass)).toEqual(done)
    expect([none.calls, some.calls]).toEqual([[], ['writeExports']])
  })

  it('checks its imports, those of the same pass before those of the status', async () => {
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

  it('takes the hash off when nothing is imported any more', async () => {
    const act = { writeExports: () => Promise.resolve({ imports: false }) }
    const { pass } = installationPass({ target: { importsHash: 'before' }, act })
    expect(await writeExports(pass)).toEqual(done)
    expect(pass.draft.fields).toEqual({ importsHash: null })
  })
})

describe('the deletion of an installation', () => {
  it('deletes its execution, once, and again when it shall let its items go', async () => {
    const leaving = { ...EXECUTION, deleting: true }
    const first = installationPass()
    expect(await deleteExecution(first.pass)).toEqual(done)
    const repeated = installationPass({ execution: leaving })
    expect(await deleteExecution(repeated.pass)).toEqual(done)
    const forced = installationPass({ execution: leaving, target: { withoutUninstall: true } })
    expect(await deleteExecution(forced.pass)).toEqual(done)
    expect([first.calls, repeated.calls, forced.calls]).toEqual([['deleteExecution'], [], ['deleteExecution']])
  })

  it('waits for its execution, and fails when that gave up', async () => {
    expect(await awaitDeletion(installationPass().pass)).toEqual(stop('waiting for execution root to be gone'))
    const stuck = { ...executionOfJob(), jobIDFinished: JOB, phase: 'DeleteFailed' }
    const { faults } = await awaitDeletion(installationPass({ execution: stuck }).pass)
    expect(faults).toEqual([
      {
        code: 'UndeletedSubobjects',
        message: 'execution root is DeleteFailed; expected it to be gone',
        retryable: false,
      },
    ])
  })

  it('is no longer waited for when it is interrupted', async () => {
    const { pass, calls } = installationPass({ target: { interruptRequested: true } })
    expect(await interruptInstallation(pass)).toEqual(done)
    expect(pass.state.target.interruptRequested).toBe(false)
    expect(calls).toEqual(['interruptExecution'])
  })

  it('takes its finalizer off last, and leaves those of others', async () => {
    const released = installationPass({ execution: undefined, act: { guardSubject: () => Promise.resolve(undefined) } })
    expect(await awaitDeletion(released.pass)).toEqual(stop(GONE))
    const held = installationPass({ execution: undefined })
    expect(await awaitDeletion(held.pass)).toEqual(again(0))
    const theirs = installationPass({ execution: undefined, target: { finalizers: ['theirs'] } })
    expect(await awaitDeletion(theirs.pass)).toEqual(stop('waiting for other finalizers'))
    expect([held.calls, theirs.calls]).toEqual([['guardSubject'], []])
  })
})

describe('an interrupted installation', () => {
  const interrupted = { interruptRequested: true }
  const interruption = fail('InterruptOperation', 'operation was interrupted')

  it('hands the interrupt down only to the execution that runs its job', async () => {
    const other = { ...EXECUTION, jobID: 'job-1', jobIDFinished: 'job-1' }
    const untriggered = installationPass({ target: interrupted, execution: other })
    expect(await interruptInstallation(untriggered.pass)).toEqual(interruption)
    const finished = installationPass({ target: interrupted, execution: { ...EXECUTION, jobIDFinished: JOB } })
    expect(await interruptInstallation(finished.pass)).toEqual(done)
    const alone = installationPass({ target: interrupted, execution: undefined })
    expect(await interruptInstallation(alone.pass)).toEqual(done)
    const calls = [untriggered, finished, alone].map((one) => one.calls)
    expect(calls).toEqual([['takeInterruptOff'], ['takeInterruptOff'], ['takeInterruptOff']])
  })

  it('is looked at again when it is gone or has another job', async () => {
    const act = { interruptInstallation: () => Promise.resolve(undefined) }
    expect(await interruptInstallation(installationPass({ target: interrupted, act }).pass)).toEqual(again(0))
  })

  it('does nothing without the annotation', async () => {
    const { pass, calls } = installationPass()
    expect(await interruptInstallation(pass)).toEqual(done)
    expect(calls).toEqual([])
  })

  it('begins its job by taking off an interrupt that was there before', async () => {
    const target = { phase: 'Init', interruptRequested: true, finalizers: [FINALIZER] }
    const { pass, calls } = installationPass({ target })
    await beginInstallation(pass)
    expect(calls).toEqual(['adoptInstallation 10'])
    const later = installationPass({ target: { ...target, phase: 'Progressing' } })
    await beginInstallation(later.pass)
    expect(later.calls).toEqual([])
  })
})

const TARGET: InstallationView = {
  ...{ version: '10', generation: 2, deleting: false, finalizers: [FINALIZER], phase: 'Progressing', jobID: JOB },
  ...{
    jobIDFinished: 'job-1',
    observedGeneration: 2,
    lastError: undefined,
    trigger: undefined,
    reconcileRequested: false,
    interruptRequested: false,
  },
  ...{ hasContext: true, exports: false, withoutUninstall: false, importsHash: undefined, importsRefused: false },
}

// Functions are hoisted: the tests above use them while they are collected.
function executionOfJob(): ChildExecution {
  return {
    ...{ uid: 'e', version: '5', deleting: false, withoutUninstall: false, phase: 'Progressing' },
    interruptRequested: false,
    jobID: JOB,
    jobIDFinished: 'job-1',
  }
}

const EXECUTION = executionOfJob()

interface Given {
  readonly target?: Partial<InstallationView>
  readonly execution?: ChildExecution | undefined
  readonly act?: Partial<InstallationActivities>
  readonly state?: Partial<InstallationState>
}

/** A pass, and the calls it made. */
function installationPass({ target = {}, act = {}, state = {}, ...given }: Given = {}) {
  const calls: string[] = []
  const observed = { ...TARGET, ...target }
  const execution = 'execution' in given ? given.execution : EXECUTION
  const called = <Result>(name: string, result: Result): Promise<Result> => {
    calls.push(name)
    // As results of activities travel: absent fields are left out.
    return Promise.resolve(result === undefined ? result : (JSON.parse(JSON.stringify(result)) as Result))
  }
  const fakes: InstallationActivities = {
    observeInstallation: () => Promise.reject(new Error('was not expected')),
    beginJob: ({ target: { version, deleting } }) =>
      called(`beginJob ${version}`, {
        ...observed,
        version: '11',
        jobID: JOB,
        lastError: undefined,
        phase: deleting ? 'InitDelete' : 'Init',
      }),
    adoptInstallation: ({ target: begun }) =>
      called(`adoptInstallation ${begun.version}`, {
        ...{
          ...begun,
          version: '12',
          generation: 3,
          finalizers: [FINALIZER],
          hasContext: true,
          reconcileRequested: false,
        },
      }),
    guardSubject: () => called('guardSubject', observed),
    applyExecution: () => called('applyExecution', { result: 'applied' as const, execution: EXECUTION }),
    triggerExecution: () => called('triggerExecution', EXECUTION),
    deleteExecution: () => called('deleteExecution', { ...EXECUTION, deleting: true }),
    interruptInstallation: ({ execution: one }) =>
      called(one === undefined ? 'takeInterruptOff' : 'interruptExecution', { ...observed, interruptRequested: false }),
    writeExports: ({ importsHash }) => called('writeExports', { imports: importsHash !== undefined }),
  }
  const pass: InstallationPass = {
    subject: { kind: 'Installation', uid: 'u', namespace: 'n', name: 'root' },
    jobID: JOB,
    by: { workflowID: `installation/u/${JOB}`, runID: 'run', pass: 1 },
    act: { ...fakes, ...act },
    state: { target: observed, execution, isAdopted: false, isEmpty: false, ...state },
    draft: {
      ...{ phase: observed.phase, observedGeneration: observed.observedGeneration, lastError: undefined },
      ...{ conditions: [], marks: [], fields: {} },
    },
  }
  return { pass, calls }
}
