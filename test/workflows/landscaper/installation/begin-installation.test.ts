// The begin of an Installation's job, with fake activities: two writes, between which it may crash.

import { FINALIZER } from '../../../../workflows/landscaper/contract.ts'
import { describe, expect, it } from 'vitest'

import { beginInstallation } from '../../../../workflows/landscaper/installation/begin-installation.ts'
import { done, stop, SUPERSEDED } from '../../../../workflows/kit/index.ts'

import { installationPass, JOB } from './installation-pass.ts'

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
