// The begin of an Installation's job in its first passes, with fake activities: two writes, between which it may crash.

import { describe, expect, it } from 'vitest'

import { beginInstallation } from '../../../../workflows/landscaper/installation/begin-installation.ts'
import { done, FINALIZER_ADDED, stop, SUPERSEDED } from '../../../../workflows/kit/index.ts'

import { installationPass, JOB } from './installation-pass.ts'

describe('the start of an installation’s job', () => {
  it('makes no write if the first observation made both; the job runs the spec with its defaults', async () => {
    const target = { phase: 'Init', generation: 3, observedGeneration: 2, reconcileRequested: true, finalizers: [] }
    const { pass, calls } = installationPass({ target, state: { start: 'begun' } })
    expect(await beginInstallation(pass)).toEqual(done)
    expect(calls).toEqual([])
    expect(pass.draft.observedGeneration).toBe(3)
    expect(pass.state.isAdopted).toBe(true)
  })

  it('repeats the second write if a crash came between both', async () => {
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

  it('keeps an interrupt that is found after a crash, because it may have come when items ran already', async () => {
    const { pass, calls } = installationPass({ target: { phase: 'Init', interruptRequested: true } })
    expect(await beginInstallation(pass)).toEqual(done)
    expect(calls).toEqual([])
  })

  it('triggers the dependents that Landscaper left first, and continues with the resulting version', async () => {
    const { pass, calls } = installationPass({ target: { phase: 'Init', hasLeftDependents: true } })
    expect(await beginInstallation(pass)).toEqual(done)
    expect(calls).toEqual(['askLeftDependents'])
    expect(pass.state.target).toMatchObject({ version: '13' })
    expect(await beginInstallation(pass)).toEqual(done)
    expect(calls).toHaveLength(1)
  })

  it('starts no job in a run that only triggers these dependents', async () => {
    const idle = { jobID: 'before', jobIDFinished: 'before', phase: 'Succeeded' }
    const { pass, calls } = installationPass({ target: { ...idle, hasLeftDependents: true } })
    expect(await beginInstallation(pass)).toEqual(stop(FINALIZER_ADDED))
    expect(calls).toEqual(['askLeftDependents'])
    const other = installationPass({ target: { ...idle, jobID: 'other', hasLeftDependents: true } })
    expect(await beginInstallation(other.pass)).toEqual(stop(SUPERSEDED))
    expect(other.calls).toEqual([])
  })

  it('makes no write if both are made', async () => {
    const { pass, calls } = installationPass({ target: { phase: 'Init' } })
    expect(await beginInstallation(pass)).toEqual(done)
    expect(calls).toEqual([])
  })

  it('leaves an annotation that came after the first settle, or with another generation, to the next job', async () => {
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

  it('leaves an annotation that came after this run removed its own to the next job', async () => {
    const { pass, calls } = installationPass({
      target: { phase: 'Init', reconcileRequested: true },
      state: { isAdopted: true },
    })
    expect(await beginInstallation(pass)).toEqual(done)
    expect(calls).toEqual([])
  })

  it('removes the request once: a request that comes while the job waits in Init belongs to the next job', async () => {
    const { pass, calls } = installationPass({ target: { phase: 'Init', reconcileRequested: true } })
    await beginInstallation(pass)
    pass.state = { ...pass.state, target: { ...pass.state.target, reconcileRequested: true } }
    expect(await beginInstallation(pass)).toEqual(done)
    expect(calls).toEqual(['adoptInstallation 10'])
  })

  it.each([
    ['has another job', { target: { jobID: 'other' } }],
    ['is idle', { target: { jobID: 'job-1', jobIDFinished: 'job-1', phase: 'Succeeded' } }],
    ['was begun by another run', { target: { jobID: JOB, phase: 'Init' }, state: { start: 'superseded' as const } }],
  ])('is refused when the installation %s', async (_, given) => {
    const { pass, calls } = installationPass(given)
    expect(await beginInstallation(pass)).toEqual(stop(SUPERSEDED))
    expect(calls).toEqual([])
  })

  it('fails if another job came before the second write', async () => {
    const adoptInstallation = () => Promise.resolve(undefined)
    const half = installationPass({ target: { phase: 'Init', finalizers: [] }, act: { adoptInstallation } })
    expect(await beginInstallation(half.pass)).toEqual(stop(SUPERSEDED))
  })
})
