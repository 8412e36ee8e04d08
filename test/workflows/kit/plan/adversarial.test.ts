// Parallel steps and time-outs with unusual orders of completion.

import { describe, expect, it } from 'vitest'

import {
  action,
  again,
  done,
  fail,
  join,
  parallelJoin,
  runStep,
  type Step,
  timeout,
} from '../../../../workflows/kit/index.ts'
import { Cancelled, deferred, fakeRuntime } from './fake-runtime.ts'

describe('steps that run in parallel', () => {
  it('are all awaited when one throws early', async () => {
    const slow = gate()
    const plan = parallelJoin(slow.step('slow'), throwing('bug', new TypeError('a bug')))
    const running = settled(runStep(plan, undefined, fakeRuntime()))
    await turns()
    expect(running.state).toBe('pending')
    slow.open()
    await turns()
    expect(running).toEqual({ state: 'rejected', reason: new TypeError('a bug') })
    expect(slow.ran).toBe(true)
  })

  it('wait for slow siblings when one fails', async () => {
    const slow = gate(again(3))
    const failing = action<undefined>('failing', () => fail('Broken', 'x'))
    const running = runStep(parallelJoin(failing, slow.step('slow')), undefined, fakeRuntime())
    const view = settled(running)
    await turns()
    expect(view.state).toBe('pending')
    slow.open()
    expect(await running).toEqual({ ...fail('Broken', 'x'), againMs: 3 })
  })

  it('are all started before any of them ends', async () => {
    const gates = [gate(), gate(), gate()]
    const started: number[] = []
    const steps = gates.map(({ step }, at) =>
      action<undefined>(`step ${at}`, async (pass) => {
        started.push(at)
        return await step('inner').run(pass, fakeRuntime())
      }),
    )
    const running = runStep(parallelJoin(...steps), undefined, fakeRuntime())
    await turns()
    expect(started).toEqual([0, 1, 2])
    for (const { open } of gates.toReversed()) open()
    expect(await running).toEqual(done)
  })

  it('report faults in declared order, not in the order of their end', async () => {
    const first = gate(fail('First', 'x'))
    const second = gate(fail('Second', 'x'))
    const running = runStep(parallelJoin(first.step('first'), second.step('second')), undefined, fakeRuntime())
    second.open()
    await turns()
    first.open()
    expect((await running).faults.map(({ code }) => code)).toEqual(['First', 'Second'])
  })

  it('rethrow the first error in declared order, not in time', async () => {
    const late = gate(new Cancelled('late'))
    const plan = parallelJoin(late.step('late'), throwing('early', new TypeError('a bug')))
    const running = runStep(plan, undefined, fakeRuntime())
    await turns()
    late.open()
    await expect(running).rejects.toBeInstanceOf(Cancelled)
  })
})

describe('a time-out', () => {
  it('expires alone inside of another time-out', async () => {
    const runtime = fakeRuntime()
    const plan = timeout(
      100,
      join(
        timeout(10, gate().step('hang')),
        action('after', () => done),
      ),
    )
    const running = runStep(plan, undefined, runtime)
    runtime.expire()
    const { faults } = await running
    expect(faults.map(({ message }) => message)).toEqual(['hang took longer than 10 ms'])
  })

  it('that expires while the step throws late leaves no unhandled rejection', async () => {
    const runtime = fakeRuntime()
    const late = gate(new TypeError('too late to matter'))
    const running = runStep(timeout(10, late.step('late')), undefined, runtime)
    runtime.expire()
    expect((await running).faults).toHaveLength(1)
    late.open()
    await turns()
  })
})

/** A step that finishes when the test opens it. */
function gate(report: Parameters<typeof action>[1] | Error | ReturnType<typeof fail> = done) {
  const opened = deferred<undefined>()
  const self = {
    ran: false,
    open: () => {
      opened.resolve(undefined)
    },
    step: (name: string): Step<undefined> =>
      action(name, async () => {
        await opened.promise
        self.ran = true
        if (report instanceof Error) throw report
        return typeof report === 'function' ? report(undefined) : report
      }),
  }
  return self
}

function throwing(name: string, error: Error): Step<undefined> {
  return action(name, () => Promise.reject(error))
}

function settled(promise: Promise<unknown>) {
  const view: { state: string; reason?: unknown } = { state: 'pending' }
  promise.then(
    () => (view.state = 'fulfilled'),
    (reason: unknown) => Object.assign(view, { state: 'rejected', reason }),
  )
  return view
}

/** Lets every continuation that is ready run. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
}
