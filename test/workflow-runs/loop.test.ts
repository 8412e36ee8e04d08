// The reconcile loop on a real Temporal server with fake activities, for cases that unit tests cannot produce.

import { WorkflowFailedError, type WorkflowHandle } from '@temporalio/client'
import { ApplicationFailure, CancelledFailure, defineSearchAttributeKey } from '@temporalio/common'
import proto from '@temporalio/proto'
import { describe, expect, it, vi } from 'vitest'

import { done, fail, FINALIZER_ADDED, HANDED_DOWN, retryLater, stop, SUPERSEDED } from '../../workflows/kit/index.ts'
import { PATIENT } from './run-world.ts'
import type { Answer } from './widget.ts'
import { FRESH, useWidgets } from './widget-world.ts'

const { EventType } = proto.temporal.api.enums.v1
const OUTCOME = defineSearchAttributeKey('PawlOutcome', 'KEYWORD')
// A tenth of what Temporal lets a history grow to before it suggests a new run.
const LARGE_REASON = 'x'.repeat(400_000)

const { start, worker } = useWidgets()

describe('a job', () => {
  it('runs phases without waits in one pass, and one settle ends it', async () => {
    const world = await start()
    expect(await world.run.result()).toBe('Succeeded')
    expect(world.log).toEqual(['observe 1', 'prepare 1', 'work 1', 'settle 1 Succeeded'])
    // What hooks have seen last.
    const fields = { ended: expect.stringMatching(/^workOnWidget of \w/) as string }
    expect(world.settled).toMatchObject([{ change: { phase: 'Succeeded', finished: true, fields }, attempt: 0 }])
    expect(world.settled[0]?.againMs).toBeUndefined()
  })

  it('has a summary for each call in its history', async () => {
    const world = await start({ work: [() => retryLater('Away', 'no answer'), () => fail('Wrong', 'no')] })
    await world.settledTimes(1)
    await world.wake()
    await failureOf(world.run)
    expect(await world.summaries()).toEqual([
      ...['observe widget', 'prepare widget', 'work on widget', 'settle: Working, Away, retry 1'],
      ...['observe widget', 'work on widget', 'settle: Failed, Wrong'],
    ])
  })

  it('starts with the observed phase, and ends immediately when the job is finished', async () => {
    const resumed = await start({ target: { phase: 'Working' } })
    expect(await resumed.run.result()).toBe('Succeeded')
    expect(resumed.log).toEqual(['observe 1', 'work 1', 'settle 1 Succeeded'])

    const finished = await start({ target: { phase: 'Failed', jobIDFinished: 'job' } })
    expect(await failureOf(finished.run)).toMatchObject({ type: 'Failed', message: 'the phase is Failed' })
    expect(finished.log).toEqual(['observe 1', 'end Failed'])
  })

  it('ends when its object was deleted or has another job', async () => {
    const gone = await start({ target: undefined })
    expect(await gone.run.result()).toBe('Deleted')
    const replaced = await start({ target: { phase: 'Working', jobID: 'other' } })
    expect(await failureOf(replaced.run)).toMatchObject({
      type: 'Superseded',
      message: 'the object has another job: other',
    })
    expect([gone.log, replaced.log]).toEqual([
      ['observe 1', 'end Deleted'],
      ['observe 1', 'end Superseded'],
    ])
  })

  it('makes another pass after the current one for a wake that arrives during it', async () => {
    const working = deferred<Answer>()
    const world = await start({ work: [() => working.promise, () => done] })
    await world.reached('work 1')
    await world.wake()
    await world.signalled(1)
    working.resolve(stop('waiting'))
    expect(await world.run.result()).toBe('Succeeded')
    expect(world.log).toEqual([
      ...['observe 1', 'prepare 1', 'work 1', 'settle 1 Working'],
      ...['observe 2', 'work 2', 'settle 2 Succeeded'],
    ])
  })

  it('T8: makes one pass for many wakes that arrive during one', async () => {
    const working = deferred<Answer>()
    const world = await start({ work: [() => working.promise, () => done] })
    await world.reached('work 1')
    await Promise.all([world.wake(), world.wake(), world.wake()])
    await world.signalled(3)
    working.resolve(stop('waiting'))
    expect(await world.run.result()).toBe('Succeeded')
    expect(world.log.filter((line) => line.startsWith('observe'))).toEqual(['observe 1', 'observe 2'])
  })

  it('continues within its task, without a signal, when an event has arrived since the observation', async () => {
    const world = await start({
      work: [() => stop('waiting'), () => stop('waiting'), () => done],
      comesIn: [1, 2],
    })
    expect(await world.run.result()).toBe('Succeeded')
    expect(world.log).toEqual([
      ...['observe 1', 'prepare 1', 'work 1', 'settle 1 Working'],
      ...['observe 2', 'work 2', 'settle 2 -'],
      ...['observe 3', 'work 3', 'settle 3 Succeeded'],
    ])
    expect(await world.eventsOf(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED)).toBe(0)
  })

  it('counts attempts while faults are retryable, shows the error, and starts no timer', async () => {
    const world = await start({
      work: [() => retryLater('Away', 'no answer'), () => retryLater('Away', 'no answer'), () => done],
    })
    const error = { operation: 'Working', reason: 'Away', message: 'no answer' }
    for (const pass of [1, 2]) {
      await world.reached(`work ${pass}`)
      await world.settledTimes(pass)
      expect(world.settled[pass - 1]).toMatchObject({ attempt: pass, againMs: Number.MAX_SAFE_INTEGER })
      await world.wake()
    }
    expect(world.settled[0]?.change).toMatchObject({ phase: 'Working', lastError: error })
    expect(await world.run.result()).toBe('Succeeded')
    expect(world.settled[2]).toMatchObject({ attempt: 0, change: { phase: 'Succeeded', finished: true } })
    expect(world.settled[2]?.change?.lastError).toBeUndefined()
    expect(await world.eventsOf(EventType.EVENT_TYPE_TIMER_STARTED)).toBe(0)
  })

  it('distinguishes passes requested by events or users from due passes', async () => {
    const away = () => retryLater('Away', 'no answer')
    const world = await start({ work: [away, away, away, () => done] })
    for (const [pass, seq] of [
      [1, 0],
      [2, 7],
      [3, 0],
    ] as const) {
      await world.settledTimes(pass)
      await world.wake(seq)
    }
    expect(await world.run.result()).toBe('Succeeded')
    expect(world.settled.map(({ isOutside }) => isOutside)).toEqual([true, undefined, true, undefined])
  })

  it('waits for a wake and settles again when the API server rejects the status', async () => {
    const world = await start({ settles: ['refused', 'refused', 'settled'] })
    for (const pass of [1, 2]) {
      await world.settledTimes(pass)
      await world.wake(0)
    }
    expect(await world.run.result()).toBe('Succeeded')
    expect(world.settled.map(({ refusals }) => refusals)).toEqual([undefined, 1, 2])
    expect(world.log.at(-1)).toBe('settle 3 Succeeded')
  })

  it('fails on a final fault: one settle writes the error, then the run ends as Failed with it, without an alarm', async () => {
    const world = await start({ work: [() => fail('ERR_CONFIGURATION_PROBLEM', 'wrong')] })
    const failure = await failureOf(world.run)
    expect(failure).toBeInstanceOf(ApplicationFailure)
    expect(failure).toMatchObject({ type: 'ERR_CONFIGURATION_PROBLEM', message: 'wrong', category: 'BENIGN' })
    expect(world.log.at(-1)).toBe('settle 1 Failed')
    const { status, typedSearchAttributes } = await world.run.describe()
    expect([status.name, typedSearchAttributes.get(OUTCOME)]).toEqual(['FAILED', 'Failed'])
    const lastError = { operation: 'Working', reason: 'ERR_CONFIGURATION_PROBLEM', message: 'wrong' }
    expect(world.settled).toMatchObject([
      {
        change: { phase: 'Failed', finished: true, lastError },
      },
    ])
  })

  it('starts the next pass without back-off when an activity found a newer object', async () => {
    const world = await start({ work: [() => fail('Changed', 'generation 2'), () => done] })
    await world.settledTimes(1)
    expect(world.settled[0]).toMatchObject({ againMs: 0, attempt: 0 })
    expect(world.settled[0]?.change?.lastError).toBeUndefined()
    await world.wake()
    expect(await world.run.result()).toBe('Succeeded')
  })

  it('ends as superseded when its final settle finds another job', async () => {
    const world = await start({ settles: ['superseded'] })
    expect(await failureOf(world.run)).toMatchObject({
      type: 'Superseded',
      message: 'another run continues job job',
    })
    expect(world.log).toEqual(['observe 1', 'prepare 1', 'work 1', 'settle 1 Succeeded', 'end Superseded'])
  })

  it('makes another pass immediately when its final settle finds an edit', async () => {
    const world = await start({ settles: ['overtaken', 'settled'] })
    expect(await world.run.result()).toBe('Succeeded')
    const pass = (count: number) => [
      `observe ${count}`,
      `prepare ${count}`,
      `work ${count}`,
      `settle ${count} Succeeded`,
    ]
    expect(world.log).toEqual([...pass(1), ...pass(2)])
  })

  it('can be cancelled while it waits for a wake, and during a step, which does not turn the cancellation into a fault', async () => {
    const working = deferred<Answer>()
    const waits = await start({ work: [() => stop('waiting')] })
    const works = await start({ work: [() => working.promise] })
    await Promise.all([waits.reached('settle 1 Working'), works.reached('work 1')])
    for (const { run } of [waits, works]) {
      await run.cancel()
      expect(await failureOf(run)).toBeInstanceOf(CancelledFailure)
    }
    working.resolve(done)
    expect(waits.log.at(-1)).toBe('settle 1 Working')
    expect(works.settled).toEqual([])
  })

  it('survives a bug in its code: the task fails until the code is fixed, and the run stays open', async () => {
    const world = await start({ work: [() => ({ bug: 'undefined is not a function' })] })
    await vi.waitFor(
      async () => expect(await world.eventsOf(EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED)).toBe(1),
      PATIENT,
    )
    expect((await world.run.describe()).status.name).toBe('RUNNING')
    expect(world.settled).toEqual([])
    await world.run.terminate()
  })

  it('continues as new when its history is long, even if each of its passes is woken, and loses no wake', async () => {
    const wokenInPass = async () => {
      await world.wake()
      return stop(LARGE_REASON)
    }
    const serves = ['these']
    const world = await start({ work: [wokenInPass], target: { phase: 'Working' }, serves })
    const { runId } = await world.run.describe()
    const runs = () => world.log.filter((line) => line === 'observe 1').length
    await vi.waitFor(() => expect(runs()).toBe(2), PATIENT)
    world.answers.work = [() => done]
    expect(await world.run.result()).toBe('Succeeded')
    expect((await worker.getHandle(world.workflowID, runId).describe()).status.name).toBe('CONTINUED_AS_NEW')
    // What it serves is the same in each pass of both.
    expect([...world.served]).toEqual([JSON.stringify(serves)])
  })
})

describe('a job whose steps write the status themselves', () => {
  const ended = { jobID: 'job', jobIDFinished: 'job', lastError: undefined }

  it('ends in the pass in which they end it, and settles nothing', async () => {
    const world = await start({ type: 'gizmo', work: [() => ({ shown: { ...ended, phase: 'Succeeded' } })] })
    expect(await world.run.result()).toBe('Succeeded')
    expect(world.log).toEqual(['observe 1', 'work 1', 'end Succeeded'])
  })

  it('fails with the error of its object, also when another process has ended it', async () => {
    const world = await start({ type: 'gizmo', work: [() => stop('waiting')] })
    await world.reached('settle 1 -')
    const lastError = { operation: 'Reconcile', reason: 'Wrong', message: 'no' }
    world.target = { ...FRESH, ...ended, phase: 'Failed', lastError }
    await world.wake()
    expect(await failureOf(world.run)).toMatchObject({ type: 'Wrong', message: 'no' })
    expect(world.log).toEqual(['observe 1', 'work 1', 'settle 1 -', 'observe 2', 'end Failed'])
  })

  it('treats every fault as retryable', async () => {
    const shown = { ...ended, phase: 'Succeeded' }
    const world = await start({ type: 'gizmo', work: [() => fail('Invalid', 'no'), () => ({ shown })] })
    await world.settledTimes(1)
    expect(world.settled[0]).toMatchObject({ attempt: 1, againMs: Number.MAX_SAFE_INTEGER })
    await world.wake()
    expect(await world.run.result()).toBe('Succeeded')
  })

  it.each([
    ['the object asks for none', FINALIZER_ADDED, 'Guarded'],
    ['it is handed down', HANDED_DOWN, 'HandedDown'],
  ])('ends when %s', async (_, reason, result) => {
    const world = await start({ type: 'gizmo', target: { jobID: undefined }, work: [() => stop(reason)] })
    expect(await world.run.result()).toBe(result)
  })

  it('ends when its object was deleted, or has another job, or gets another run', async () => {
    const gone = await start({ type: 'gizmo', target: undefined })
    expect(await gone.run.result()).toBe('Deleted')
    const replaced = await start({ type: 'gizmo', target: { jobID: 'other' } })
    expect(await failureOf(replaced.run)).toMatchObject({ type: 'Superseded' })
    const late = await start({ type: 'gizmo', target: { jobID: undefined }, work: [() => stop(SUPERSEDED)] })
    expect(await failureOf(late.run)).toMatchObject({ type: 'Superseded' })
    expect([gone.log, replaced.log]).toEqual([
      ['observe 1', 'end Deleted'],
      ['observe 1', 'end Superseded'],
    ])
  })
})

async function failureOf(run: WorkflowHandle): Promise<unknown> {
  const error: unknown = await run.result().catch((failure: unknown) => failure)
  return error instanceof WorkflowFailedError ? error.cause : error
}

function deferred<Value>() {
  let resolve: (value: Value) => void = () => undefined
  const promise = new Promise<Value>((onValue) => {
    resolve = onValue
  })
  return { promise, resolve }
}
