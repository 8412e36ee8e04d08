// Tests the pass over an Execution within the pass of its Installation.

import { describe, expect, it } from 'vitest'
import { again, done, fail, type HostedProgress, stop } from '../../../../workflows/kit/index.ts'
import { applyChildren } from '../../../../workflows/landscaper/installation/apply-children.ts'
import { awaitDeletion } from '../../../../workflows/landscaper/installation/delete-children.ts'
import { awaitChildren } from '../../../../workflows/landscaper/installation/await-children.ts'
import type { InstallationActivities } from '../../../../workflows/landscaper/installation/pass.ts'
import { runExecution } from '../../../../workflows/landscaper/installation/run-execution.ts'
import { EXECUTION, IDLE, installationPass, ITEM, JOB, progress } from './installation-pass.ts'

type RunExecution = InstallationActivities['runExecution']
const comingTo = (to: (given: HostedProgress<Parameters<RunExecution>[1]>) => object): RunExecution => {
  return (_, state) => {
    const went = progress(state)
    return Promise.resolve({ ...went, ...to({ ...went, state }) })
  }
}
const deletion: RunExecution = comingTo(({ state }) => ({
  result: 'Deleted',
  state: { ...state, deployItems: [] },
}))

describe('an installation that hosts its execution', () => {
  it('runs a pass over the observed execution, and waits while it waits', async () => {
    const given: Parameters<RunExecution>[1][] = []
    const act = {
      runExecution: comingTo(({ state }) => {
        given.push(state)
        return {}
      }),
    }
    const { pass } = installationPass({ execution: IDLE, state: { deployItems: [ITEM] }, act })
    expect(await runExecution(pass)).toEqual(done)
    expect(given).toEqual([{ target: IDLE, deployItems: [ITEM], isInterrupted: false }])
    expect(pass.state.execution).toMatchObject({ ...IDLE, phase: 'Progressing', jobID: JOB, error: undefined })
    expect(pass.draft.marks).toEqual(['waitTime'])
    expect(awaitChildren(pass)).toEqual(stop('waiting for Execution "root"'))
  })

  it('sees its success and its exports in the same pass', async () => {
    const fields = { exportRef: { name: 'x' } }
    const ended = (set: object) =>
      comingTo(({ draft }) => ({ result: 'Succeeded', draft: { ...draft, phase: 'Succeeded', fields: set } }))
    const some = installationPass({ execution: IDLE, act: { runExecution: ended(fields) } })
    const none = installationPass({
      execution: { ...IDLE, hasExports: true },
      act: { runExecution: ended({ exportRef: null }) },
    })
    const same = installationPass({ execution: { ...IDLE, hasExports: true }, act: { runExecution: ended({}) } })
    for (const { pass } of [some, none, same]) {
      expect(await runExecution(pass)).toEqual(done)
      expect(awaitChildren(pass)).toEqual(done)
    }
    expect([some, none, same].map(({ pass }) => pass.state.execution?.hasExports)).toEqual([true, false, true])
  })

  it('sees the reason of its failure', async () => {
    const lastError = { operation: 'Progressing', reason: 'DeployItemsFailed', message: 'db: no disk' }
    const act = {
      runExecution: comingTo(({ draft }) => ({ result: 'Failed', draft: { ...draft, phase: 'Failed', lastError } })),
    }
    const { pass } = installationPass({ act })
    await runExecution(pass)
    const message = 'Execution "root" failed: db: no disk'
    expect(awaitChildren(pass)).toEqual(fail('ChildrenFailed', message))
  })

  it('accepts an end that was written before its own pass', async () => {
    const finished = { ...EXECUTION, jobIDFinished: JOB, phase: 'Failed', error: 'db: no disk' }
    const act = { runExecution: comingTo(() => ({ result: 'Failed', draft: undefined })) }
    const { pass } = installationPass({ execution: finished, act })
    expect(await runExecution(pass)).toEqual(done)
    expect(pass.state.execution).toMatchObject(finished)
  })

  it('has no execution after its deletion has ended', async () => {
    const deleting = { ...EXECUTION, deleting: true }
    const given = { execution: deleting, state: { deployItems: [ITEM] }, act: { runExecution: deletion } }
    const { pass } = installationPass(given)
    expect(await runExecution(pass)).toEqual(done)
    expect(pass.state).toMatchObject({ execution: undefined, deployItems: [] })
    expect(await awaitDeletion(pass)).toEqual(again(0))
  })

  it('waits while it runs another job, and continues afterwards', async () => {
    const busy = installationPass({ execution: { ...EXECUTION, jobID: 'other' } })
    expect(await runExecution(busy.pass)).toEqual(stop('waiting until Execution "root" has finished another job'))
    const idle = installationPass({ execution: { ...EXECUTION, jobID: 'other', jobIDFinished: 'other' } })
    expect(await runExecution(idle.pass)).toEqual(done)
    expect([busy.calls, idle.calls]).toEqual([[], ['runExecution']])
    expect([busy.pass.draft.marks, idle.pass.draft.marks]).toEqual([[], ['waitTime']])
  })

  it('runs nothing without an execution', async () => {
    const { pass, calls } = installationPass({ execution: undefined })
    expect(await runExecution(pass)).toEqual(done)
    expect([calls, pass.draft.marks]).toEqual([[], []])
  })
})

describe('an interrupt', () => {
  const interrupted = { interruptRequested: true }

  it('ends the items of the execution, and is removed last', async () => {
    const { pass, calls } = installationPass({ target: interrupted })
    expect(await runExecution(pass)).toEqual(done)
    expect(calls).toEqual(['interruptExecution', 'takeInterruptOff'])
    expect(pass.state.target.interruptRequested).toBe(false)
  })

  it('on the execution itself is removed by the execution', async () => {
    const { pass, calls } = installationPass({ execution: { ...EXECUTION, ...interrupted } })
    expect(await runExecution(pass)).toEqual(done)
    expect(calls).toEqual(['interruptExecution'])
  })

  it('stays until the items have ended', async () => {
    const act = { runExecution: comingTo(() => ({})) }
    const { pass, calls } = installationPass({ target: interrupted, act })
    expect(await runExecution(pass)).toEqual(done)
    expect(calls).toEqual([])
    expect(pass.state.target.interruptRequested).toBe(true)
  })

  it('leads to another pass if the installation is deleted or has another job', async () => {
    const act = { interruptInstallation: () => Promise.resolve(undefined) }
    expect(await runExecution(installationPass({ target: interrupted, act }).pass)).toEqual(again(0))
  })

  it('reaches items that have the job if the execution does not have it yet', async () => {
    const { pass, calls } = installationPass({ target: interrupted, execution: IDLE, state: { deployItems: [ITEM] } })
    expect(await runExecution(pass)).toEqual(done)
    expect(calls).toEqual(['interruptExecution', 'takeInterruptOff'])
  })

  it('on the execution before the job starts belongs to an earlier job, and is removed', async () => {
    const { pass, calls } = installationPass({ execution: { ...IDLE, ...interrupted } })
    expect(await runExecution(pass)).toEqual(done)
    expect(calls).toEqual(['forgetInterrupt e 5', 'runExecution'])
    expect(pass.state.execution).toMatchObject({ version: '6', jobID: JOB, interruptRequested: false })

    const act = { forgetInterrupt: () => Promise.resolve(undefined) }
    const replaced = installationPass({ execution: { ...IDLE, ...interrupted }, act })
    expect(await runExecution(replaced.pass)).toEqual(again(0))
    expect(replaced.calls).toEqual([])
  })
})

describe('an installation in phase Init', () => {
  const rendering = { generation: 4 }
  const executionRef = { name: 'root', namespace: 'n' }

  it('does not render again after an item has the job: it reports the imports from which the items were rendered', async () => {
    const execution = { ...IDLE, renderedFrom: { generation: 3, importsHash: 'b6589fc6' } }
    const { pass, calls } = installationPass({ target: rendering, execution, state: { deployItems: [ITEM] } })
    expect(await applyChildren(pass)).toEqual(done)
    expect(calls).toEqual([])
    expect(pass.draft).toMatchObject({ observedGeneration: 3, fields: { executionRef, importsHash: 'b6589fc6' } })
  })

  it('reports only the generation for items without imports', async () => {
    const { pass } = installationPass({ target: rendering, execution: EXECUTION, state: { deployItems: [ITEM] } })
    await applyChildren(pass)
    expect(pass.draft.observedGeneration).toBe(2)
    expect(pass.draft.fields).toEqual({ executionRef })
  })

  it('assumes the current spec for items of an execution without that annotation', async () => {
    const execution = { ...EXECUTION, renderedFrom: undefined }
    const target = { ...rendering, importsHash: 'of the status' }
    const { pass } = installationPass({ target, execution, state: { deployItems: [ITEM] } })
    await applyChildren(pass)
    expect(pass.draft).toMatchObject({ observedGeneration: 4, fields: { importsHash: 'of the status' } })
  })

  it('renders while no item has the job', async () => {
    const items = [{ ...ITEM, jobID: 'job-1', jobIDFinished: 'job-1' }]
    const { pass, calls } = installationPass({ target: rendering, execution: IDLE, state: { deployItems: items } })
    expect(await applyChildren(pass)).toEqual(done)
    expect(calls).toEqual(['applyChildren'])
    expect(pass.draft.observedGeneration).toBe(4)
  })
})

describe('an execution that a user has deleted', () => {
  const leaving = { ...IDLE, deleting: true }

  it('is released by the next job, and created again in the same pass if that is quick', async () => {
    const { pass, calls } = installationPass({ execution: leaving, act: { runExecution: deletion } })
    expect(await applyChildren(pass)).toEqual(done)
    expect(calls).toEqual(['applyChildren'])
    expect(pass.state.execution).toEqual(JSON.parse(JSON.stringify(EXECUTION)))
  })

  it('is waited for, also if its items have the job', async () => {
    const first = installationPass({ execution: leaving })
    const then = installationPass({
      execution: { ...EXECUTION, deleting: true },
      state: { deployItems: [{ ...ITEM, deleting: true }] },
    })
    for (const { pass, calls } of [first, then]) {
      expect(await applyChildren(pass)).toEqual(stop('waiting for the deletion of Execution "root"'))
      expect(calls).toEqual(['runExecution'])
    }
  })

  it('fails the job if it could not be released', async () => {
    const act = {
      runExecution: comingTo(({ draft }) => ({ result: 'DeleteFailed', draft: { ...draft, phase: 'DeleteFailed' } })),
    }
    const { pass } = installationPass({ execution: leaving, act })
    const message =
      'Execution "root": the blueprint has no deploy items, but the Execution still exists, phase DeleteFailed'
    expect(await applyChildren(pass)).toEqual(fail('UndeletedSubobjects', message))
  })
})
