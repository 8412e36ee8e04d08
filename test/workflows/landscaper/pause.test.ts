// Tests which objects a pause holds back, and how their status reports the pause. test/e2e/interventions.test.ts tests pauses
// on servers.

import { describe, expect, it } from 'vitest'
import { done, stop } from '../../../workflows/kit/index.ts'
import { awaitResume as awaitExecution } from '../../../workflows/landscaper/execution/begin-execution.ts'
import { cleanUpOrphans } from '../../../workflows/landscaper/execution/clean-up-orphans.ts'
import { executionRun } from '../../../workflows/landscaper/execution/routes.ts'
import { triggerDeletion } from '../../../workflows/landscaper/execution/delete-items.ts'
import { triggerDeployItems } from '../../../workflows/landscaper/execution/trigger-deploy-items.ts'
import { awaitResume } from '../../../workflows/landscaper/installation/interrupt-installation.ts'
import { beginInstallation } from '../../../workflows/landscaper/installation/begin-installation.ts'
import { installationRun } from '../../../workflows/landscaper/installation/routes.ts'
import { triggerSubInstallations } from '../../../workflows/landscaper/installation/sub-installations.ts'
import { handedDownValue, pauseReason } from '../../../workflows/landscaper/pause.ts'
import { executionPass, leaving as deleted, pending, succeeded } from './execution/execution-pass.ts'
import { IDLE, installationPass, JOB, SUB } from './installation/installation-pass.ts'

const PAUSED = 'landscaper.gardener.cloud/pawl-paused'
const paused = { by: 'alice (not verified)', reason: 'a freeze' }
const text = 'paused by alice (not verified): a freeze'

describe('the annotation', () => {
  const of = (value: unknown, status = {}) => ({ metadata: { annotations: { [PAUSED]: value } }, status })
  it.each([
    ['true', 'true'],
    [' a freeze ', 'a freeze'],
    ['x'.repeat(300), 'x'.repeat(256)],
    ['', undefined],
    ['false', undefined],
    [7, undefined],
  ])('%j holds back for the reason %j', (value, reason) => {
    expect(pauseReason(of(value))).toBe(reason)
  })

  it('is valid for its job only if a parent has handed it down', () => {
    const value = handedDownValue('j')
    for (const by of [undefined, 'alice', 'x'.repeat(500)])
      expect(pauseReason(of(handedDownValue('j', by), { jobID: 'j' }))).toBe(value)
    expect(pauseReason(of(handedDownValue('j2', 'alice'), { jobID: 'j' }))).toBeUndefined()
    for (const status of [{ jobID: 'k' }, { jobID: 'j', jobIDFinished: 'j' }, {}])
      expect(pauseReason(of(value, status))).toBeUndefined()
  })

  it.each([
    ['an installation', installationRun],
    ['an execution', (object: object) => executionRun(object, true)],
  ])('keeps %s from having a job, and has it tell that', (_, run) => {
    const finalizers = ['finalizer.landscaper.gardener.cloud']
    const asks = { finalizers, deletionTimestamp: '2026-01-01T00:00:00Z', generation: 2 }
    const annotations = { [PAUSED]: 'why', 'landscaper.gardener.cloud/operation': 'reconcile' }
    const told = { paused: { by: 'x', reason: 'why' } }
    expect(run({ metadata: { ...asks, annotations } })).toMatchObject({ isJobless: true, cause: 'paused' })
    expect(run({ metadata: { ...asks, annotations }, status: told })).toHaveProperty('none')
    expect(run({ metadata: asks, status: told })).toMatchObject({ jobID: undefined })
    expect(run({ metadata: { finalizers }, status: told })).toMatchObject({ isJobless: true, cause: 'resumed' })
  })
})

describe('a paused installation', () => {
  it.each(['Init', 'CleanupOrphaned', 'ObjectsCreated', 'Progressing', 'InitDelete', 'Deleting'])(
    'holds back in %s what has not begun',
    async (phase) => {
      const { pass, calls } = installationPass({ execution: IDLE, target: { paused, phase } })
      pass.draft.phase = phase
      expect(await awaitResume(pass)).toEqual(stop(text))
      expect(pass.draft.fields).toEqual({ paused })
      expect(pass.draft.conditions).toMatchObject([{ type: 'Paused', status: 'True', message: text }])
      expect(calls).toEqual([])
    },
  )

  it('continues a started execution, and reports the pause once', async () => {
    const { pass } = installationPass({ target: { paused, pauseTold: 'a freeze', phase: 'Progressing' } })
    pass.draft.phase = 'Progressing'
    expect(await awaitResume(pass)).toEqual(done)
    expect(pass.draft).toMatchObject({ fields: {}, conditions: [] })
  })

  it('resets the report when the pause ends', async () => {
    const { pass } = installationPass({ execution: IDLE, target: { pauseTold: 'a freeze' } })
    expect(await awaitResume(pass)).toEqual(done)
    expect(pass.draft.fields).toEqual({ paused: null })
    expect(pass.draft.conditions).toMatchObject([{ type: 'Paused', status: 'False' }])
  })

  it('hands the pause down to sub-installations that run the job, and withdraws it', async () => {
    const running: typeof SUB = { ...SUB, uid: 's1', name: 'runs', jobID: JOB, jobIDFinished: undefined }
    const own = { ...running, uid: 's2', name: 'paused-itself', paused }
    const ended = { ...running, uid: 's3', name: 'ended', jobIDFinished: JOB }
    const subInstallations = [running, own, ended]
    const held = installationPass({ target: { paused }, state: { subInstallations } })
    await awaitResume(held.pass)
    expect(held.calls).toEqual(['hold runs'])
    const left = [{ ...running, heldBy: handedDownValue(JOB) }, own, ended]
    const free = installationPass({ state: { subInstallations: left } })
    await awaitResume(free.pass)
    expect(free.calls).toEqual(['let go on runs'])
  })

  it('hands no job down to a sub-installation', async () => {
    const subInstallations = [{ ...SUB, uid: 's1', name: 'idle', jobID: undefined, jobIDFinished: undefined }]
    const { pass, calls } = installationPass({
      target: { paused, phase: 'ObjectsCreated' },
      state: { subInstallations },
    })
    expect(await triggerSubInstallations(pass)).toEqual(stop(`${text}; not started: idle`))
    expect(calls).toEqual([])
  })

  it('reports the pause in a run without a job while it is idle', async () => {
    const idle = { paused, jobID: 'before', jobIDFinished: 'before' }
    const { pass, calls } = installationPass({ target: idle })
    expect(await beginInstallation(pass)).toEqual(stop('guarded'))
    expect(calls).toEqual(['tellPause'])
  })
})

describe('a paused execution', () => {
  it('starts no item, and waits', async () => {
    const items = [succeeded('a'), pending('b', ['a'])]
    const { pass, called } = executionPass(items, { target: { paused } })
    expect(await triggerDeployItems(pass)).toEqual(stop(`${text}; not started: b`))
    expect(called.deployed).toEqual([])
  })

  it('succeeds if everything has started', async () => {
    const { pass } = executionPass([succeeded('a')], { target: { paused } })
    expect(await triggerDeployItems(pass)).toEqual(done)
  })

  it('leaves orphans, and items that are to be uninstalled', async () => {
    const orphan = executionPass([pending('gone')], { target: { paused, items: [] } })
    expect(await cleanUpOrphans(orphan.pass)).toEqual(stop(`${text}; not uninstalled: gone`))
    const leaving = executionPass([deleted(pending('x'))], { target: { paused, withoutUninstall: true } })
    expect(await triggerDeletion(leaving.pass)).toEqual(stop(`${text}; not uninstalled: x`))
    for (const { called } of [orphan, leaving])
      expect([called.deleted, called.released, called.deployed]).toEqual([[], [], []])
  })

  it('holds its job before anything starts', () => {
    const { pass } = executionPass([pending('a')])
    pass.state = { ...pass.state, isPaused: true }
    expect(awaitExecution(pass)).toEqual(done)
    pass.draft.phase = 'Init'
    expect(awaitExecution(pass)).toEqual(stop('its installation is paused'))
  })
})
