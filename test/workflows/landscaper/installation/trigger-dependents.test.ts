// The end of a root's job, before its status says so.

import { describe, expect, it } from 'vitest'
import { awaitSuccessors } from '../../../../workflows/landscaper/installation/delete-children.ts'
import { installationPlan } from '../../../../workflows/landscaper/installation/plan.ts'
import { triggerDependents, writeExports } from '../../../../workflows/landscaper/installation/write-exports.ts'
import { done, fail, retryLater, stop } from '../../../../workflows/kit/index.ts'
import { runPhases } from '../../../../workflows/kit/run/job/phases.ts'
import { type Given, installationPass } from './installation-pass.ts'

const GIVING = { gives: true, awaitsSuccessors: true }

describe('the end of the job of an exporting root', () => {
  const lastError = { operation: 'o', reason: 'children failed', message: 'm' }

  it('triggers the importers after a failure', async () => {
    const { pass, calls } = installationPass({ target: GIVING })
    Object.assign(pass.draft, { phase: 'Failed', lastError })
    expect([await triggerDependents(pass), calls]).toEqual([done, ['triggerDependents']])
  })

  it('triggers them with the exports after a success', async () => {
    const asked: unknown[] = []
    const act: Given['act'] = {
      writeExports: ({ asksDependents }) => {
        asked.push(asksDependents)
        return Promise.resolve({ imports: false })
      },
    }
    const { pass, calls } = installationPass({ target: { ...GIVING, exports: true }, act })
    await writeExports(pass)
    Object.assign(pass.draft, { phase: 'Succeeded' })
    expect([await triggerDependents(pass), asked, calls]).toEqual([done, [true], []])
    await writeExports(installationPass({ target: { ...GIVING, exports: true, deleting: true }, act }).pass)
    expect(asked).toEqual([true, undefined])
  })

  it.each([
    ['exports nothing', {}],
    ['is a sub-installation', { ...GIVING, hasParent: true }],
    ['is being deleted', { ...GIVING, deleting: true }],
  ])('has nobody started where it %s', async (_, target) => {
    const { pass, calls } = installationPass({ target })
    Object.assign(pass.draft, { phase: 'Failed', lastError })
    expect([await triggerDependents(pass), calls]).toEqual([done, []])
  })

  it('triggers no root of an import cycle', async () => {
    const { pass, calls } = installationPass({ target: GIVING })
    const ring = { operation: 'handlePhaseInit', reason: 'ImportRing', message: 'a -> b -> a' }
    Object.assign(pass.draft, { phase: 'Failed', lastError: ring })
    expect([await triggerDependents(pass), calls]).toEqual([done, []])
  })

  it('does not come while they could not be triggered', async () => {
    const { pass } = installationPass({ target: { ...GIVING, phase: 'Completing' } })
    const away = retryLater('ServiceUnavailable', 'the API server is away')
    const ended = async (ending: typeof away) =>
      await runPhases(installationPlan, pass, ({ name }) =>
        Promise.resolve(name === 'triggerDependents' ? ending : done),
      )
    expect(await ended(away)).toEqual({ outcome: away, result: undefined })
    expect(pass.draft).toMatchObject({ phase: 'Completing', marks: [] })
    expect(await ended(done)).toEqual({ outcome: done, result: 'Succeeded' })
    expect(pass.draft).toMatchObject({ phase: 'Succeeded', marks: ['finishedTime'] })
  })

  it('after a failure is written only after they were triggered', async () => {
    const { pass } = installationPass({ target: { ...GIVING, phase: 'Completing' } })
    const away = retryLater('ServiceUnavailable', 'the API server is away')
    const ended = async (ending: typeof away) =>
      await runPhases(installationPlan, pass, ({ name }) =>
        Promise.resolve(name === 'triggerDependents' ? ending : fail('ExportConflict', 'taken')),
      )
    await ended(away)
    expect(pass.draft).toMatchObject({ phase: 'Completing', lastError: undefined })
    expect(await ended(done)).toEqual({ outcome: done, result: 'Failed' })
    expect(pass.draft).toMatchObject({ phase: 'Failed', lastError: { reason: 'ExportConflict' } })
  })
})

describe('an exporting root that is being deleted', () => {
  const waiting = 'waiting for the deletion of siblings that import from this installation: app'
  const act = { lookForSuccessors: () => Promise.resolve({ unfinished: ['app'], failed: [] }) }

  it('names the roots that it waits for, once', async () => {
    const first = installationPass({ target: { ...GIVING, phase: 'InitDelete' }, act })
    expect(await awaitSuccessors(first.pass)).toEqual(stop(waiting))
    expect(first.pass.draft.conditions).toMatchObject([{ type: 'WaitsForSiblings', status: 'True', message: waiting }])
    const next = installationPass({ target: { ...GIVING, phase: 'InitDelete', siblingWait: waiting }, act })
    expect(await awaitSuccessors(next.pass)).toEqual(stop(waiting))
    expect(next.pass.draft.conditions).toEqual([])
    const over = installationPass({ target: { ...GIVING, phase: 'InitDelete', siblingWait: waiting } })
    expect(await awaitSuccessors(over.pass)).toEqual(done)
    expect(over.pass.draft.conditions).toMatchObject([{ type: 'WaitsForSiblings', status: 'False' }])
  })

  it('does not wait in a run that started in a release without an order of roots', async () => {
    const { pass, calls } = installationPass({ target: { awaitsSuccessors: true } })
    expect([await awaitSuccessors(pass), calls]).toEqual([done, []])
  })
})
