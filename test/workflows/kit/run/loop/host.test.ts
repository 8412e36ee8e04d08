// Tests passes over a hosted child outside of a workflow run; test/workflow-runs/ tests them in runs.

import { ApplicationFailure } from '@temporalio/common'
import { describe, expect, it } from 'vitest'

import {
  action,
  again,
  done,
  fail,
  GONE,
  type HostedResult,
  type JobController,
  type JobState,
  type Outcome,
  stop,
  type TargetView,
} from '../../../../../workflows/kit/index.ts'
import { Hosting } from '../../../../../workflows/kit/run/loop/host.ts'

const ROOT = { kind: 'Widget', uid: 'root', namespace: 'n', name: 'w' }
const CHILD = { kind: 'Part', uid: 'child', namespace: 'n', name: 'w' }
const BY = { workflowID: 'widget/n/w/job', runID: 'run', pass: 3, tree: ['root'], serves: ['these'] }

describe('the pass over a hosted child without the job', () => {
  it('starts with the first phase and the start times, also if the child has another phase', async () => {
    const given = host({ Init: done, Working: stop('waiting') })
    const state = childState({ jobID: 'before', jobIDFinished: 'before', phase: 'Working', generation: 4 })
    const { outcome, result, draft } = await given.pass(state)
    expect([outcome, result]).toEqual([stop('waiting'), undefined])
    expect(draft).toMatchObject({ phase: 'Working', observedGeneration: 4, marks: ['triggerTime', 'initTime'] })
    expect(given.steps).toEqual(['Init', 'Working'])
    const change = { begins: { before: 'before' }, phase: 'Working', finished: false }
    expect(given.hosted).toMatchObject([{ subject: CHILD, change, outcome: stop('waiting') }])
  })

  it('can end the job immediately', async () => {
    const given = host({})
    const { result, draft } = await given.pass(childState({ jobID: undefined, jobIDFinished: undefined }))
    expect([result, draft?.phase]).toEqual(['Succeeded', 'Succeeded'])
    const change = { begins: { before: undefined }, phase: 'Succeeded', finished: true }
    expect(given.hosted).toMatchObject([{ change, outcome: done }])
  })

  it('does not call `resume`', async () => {
    const given = host({})
    await given.pass(childState({ jobID: 'before', jobIDFinished: 'before' }))
    expect(given.resumed).toBe(0)
  })
})

describe('the pass over a hosted child with the job', () => {
  it('continues with its phase, and changes nothing without progress', async () => {
    const given = host({ Working: stop('waiting') })
    await given.pass(childState({ phase: 'Working' }))
    expect([given.steps, given.resumed]).toEqual([['Working'], 1])
    expect(given.hosted).toMatchObject([{ change: undefined, outcome: stop('waiting') }])
  })

  it('calls `resume`, which can remove fields of another controller', async () => {
    const given = host({}, { resume: ({ draft }) => (draft.phase = undefined) })
    await given.pass(childState({ phase: 'Working' }))
    expect(given.steps).toEqual(['Init', 'Working'])
  })

  it('does not run when an earlier pass has written the end of the child', async () => {
    const given = host({})
    const state = childState({ phase: 'Failed', jobIDFinished: 'job' })
    expect(await given.pass(state)).toEqual({ outcome: done, result: 'Failed', state, draft: undefined })
    expect([given.steps, given.hosted]).toEqual([[], []])
  })

  it('settles nothing when the child was deleted', async () => {
    const given = host({ Working: stop(GONE) })
    expect((await given.pass(childState({ phase: 'Working' }))).result).toBe('Deleted')
    expect(given.hosted).toMatchObject([{ change: undefined }])
  })

  it('ends the job of the child, not the run, after a final fault', async () => {
    const given = host({ Working: fail('Broken', 'no') })
    expect((await given.pass(childState({ phase: 'Working' }))).result).toBe('Failed')
    expect(given.hosted).toMatchObject([{ change: { phase: 'Failed', finished: true }, outcome: done }])
  })
})

describe('a request by the pass of a hosted child', () => {
  it('becomes a request of the run: another pass, a back-off', async () => {
    const later = host({ Working: again(3000) })
    await later.pass(childState({ phase: 'Working' }))
    const failing = host({ Working: () => Promise.reject(ApplicationFailure.retryable('later', 'Busy')) })
    await failing.pass(childState({ phase: 'Working' }))
    expect(later.hosted[0]?.outcome).toEqual(again(3000))
    expect(failing.hosted[0]?.outcome.faults).toEqual([{ code: 'Busy', message: 'later', retryable: true }])
  })

  it('can come from background activities', async () => {
    const given = host({ Working: stop('waiting') })
    await given.pass(childState({ phase: 'Working' }))
    expect(given.hosting.background?.running).toBe(0)
    expect(given.hosting.details()).toBe('Working')
  })
})

describe("the reference of a hosted child's pass", () => {
  it("names the run, the child's controller, and all objects that the run hosts", async () => {
    const given = host({ Working: stop('waiting') })
    await given.pass(childState({ phase: 'Working' }))
    const by = { ...BY, controller: 'part', tree: ['root', 'child'] }
    expect(given.hosted).toMatchObject([{ by }])
    expect(given.acted).toEqual([by])
  })

  it('lets children of the child settle before the child', async () => {
    const inner = { change: undefined, subject: { ...CHILD, uid: 'grandchild' } } as HostedResult
    const given = host({ Working: stop('waiting') }, { inner })
    await given.pass(childState({ phase: 'Working' }))
    expect(given.hosted.map(({ subject }) => subject.uid)).toEqual(['grandchild', 'child'])
  })
})

describe('the state of a hosted child in its run', () => {
  it('is the state after the last pass and settle', async () => {
    const given = host({ Working: stop('waiting') })
    expect(given.hosting.state).toBeUndefined()
    await given.pass(childState({ phase: 'Init' }))
    given.hosted[0]?.applySettled({ version: '8', phase: 'Working' })
    expect(given.hosting.state?.target).toEqual({ ...childState({}).target, version: '8', phase: 'Working' })
  })
})

describe('a host that is not attached', () => {
  it('rejects passes', async () => {
    const hosting = new Hosting(
      'part',
      controllerOf(() => done),
    )
    const root = { by: BY, jobID: 'job', subject: ROOT, hosted: [] }
    await expect(hosting.pass(root, CHILD, childState({}))).rejects.toThrow('the run hosts no part')
    expect([hosting.background, hosting.details()]).toEqual([undefined, ''])
  })
})

type Resume = NonNullable<JobController<JobState, undefined>['resume']>
type Answers = Readonly<Record<string, Outcome | (() => Promise<Outcome>)>>

/** Hosts a child whose steps return these outcomes, by default `done`. */
function host(answers: Answers, { resume, inner }: { readonly resume?: Resume; readonly inner?: HostedResult } = {}) {
  const steps: string[] = []
  const acted: unknown[] = []
  const hosted: HostedResult[] = []
  const given = { steps, acted, hosted, resumed: 0 }
  const answer = (name: string): Outcome | Promise<Outcome> => {
    steps.push(name)
    const found = answers[name] ?? done
    return typeof found === 'function' ? found() : found
  }
  const controller: JobController<JobState, undefined> = {
    ...controllerOf((name, pass) => {
      acted.push(pass.by)
      if (inner !== undefined) pass.hosted.push(inner)
      return answer(name)
    }),
    resume: (pass) => {
      given.resumed += 1
      resume?.(pass)
    },
  }
  const hosting = new Hosting('part', controller)
  hosting.attach({ wake: () => undefined, show: () => undefined })
  const pass = async (state: JobState) =>
    await hosting.pass({ by: BY, jobID: 'job', subject: ROOT, hosted }, CHILD, state)
  return Object.assign(given, { hosting, pass })
}

type Step = Parameters<typeof action<Parameters<Resume>[0]>>[1]

function controllerOf(
  run: (name: string, pass: Parameters<Step>[0]) => Outcome | Promise<Outcome>,
): JobController<JobState, undefined> {
  const step = (name: string) => action<Parameters<Resume>[0]>(name, (pass) => run(name, pass))
  return {
    plan: {
      kind: 'Part',
      phases: {
        Init: { step: step('Init'), next: 'Working' },
        Working: { step: step('Working'), next: 'Succeeded' },
      },
      finalPhases: ['Succeeded', 'Failed'],
      first: () => 'Init',
      failed: () => 'Failed',
    },
    act: undefined,
    observe: () => Promise.reject(new Error('the host observes its children')),
    details: ({ draft }) => draft.phase ?? '',
  }
}

function childState(target: Partial<TargetView>): JobState {
  return {
    target: {
      version: '7',
      generation: 1,
      deleting: false,
      finalizers: [],
      phase: undefined,
      jobID: 'job',
      jobIDFinished: 'before',
      observedGeneration: 1,
      lastError: undefined,
      ...target,
    },
  }
}
