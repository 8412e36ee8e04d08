// The first attempt of slow items, and the activities that join it.

import { describe, expect, inject, it } from 'vitest'
import type { DeployStep, ItemWork } from '../../activities/landscaper/deploy/run/deployer.ts'
import { FirstAttempts } from '../../activities/landscaper/deploy/run/item-activities.ts'
import { failed, failureOf, PROVIDER, useItemStage, waiting } from './item-stage.ts'

const stage = useItemStage(inject('servers').databaseUrl)
const { item, send, goOn, status } = stage
const ready: DeployStep = { result: 'done', providerStatus: PROVIDER }

describe('the first attempt', () => {
  it('finishes an item that is ready at once, and leaves nothing to join', async () => {
    item()
    stage.answers = [ready]
    const sending = new FirstAttempts()
    const { sent } = await send(sending)
    expect(sent).toMatchObject([{ uid: 'uid-a', result: { isWaiting: false, item: { jobIDFinished: 'job' } } }])
    expect(sending.take('install/uid-a/job')).toBeUndefined()
  })

  it('reports an item that is not ready as waiting', async () => {
    item()
    stage.answers = [waiting]
    expect((await send(new FirstAttempts())).sent).toMatchObject([{ result: { isWaiting: true } }])
    expect(status()).toMatchObject({ phase: 'Progressing' })
  })

  it('passes its failure to the activity, which fails without another call; the second attempt calls the deployer again', async () => {
    item()
    stage.answers = [failed(), ready]
    const sending = new FirstAttempts()
    expect(await send(sending)).toEqual({ sent: [] })
    const failure = await failureOf(goOn(sending))
    expect([failure.type, failure.nextRetryDelay]).toEqual(['DeployFailed', 5000])
    expect(stage.calls).toEqual(['install'])
    await goOn(sending, 2)
    expect(stage.calls).toEqual(['install', 'install'])
    expect(status()).toMatchObject({ phase: 'Succeeded' })
  })
})

describe('a slow first attempt', () => {
  it('stops delaying the run after 2 s, and the activity joins it', async () => {
    item()
    const late = held()
    stage.answers = [late.step]
    const before = performance.now()
    const sending = new FirstAttempts()
    expect(await send(sending)).toEqual({ sent: [] })
    expect(performance.now() - before).toBeGreaterThan(1000)
    const after = goOn(sending)
    late.end(ready)
    expect(await after).toMatchObject({ isWaiting: false, item: { jobIDFinished: 'job' } })
    expect(status()).toMatchObject({ phase: 'Succeeded' })
    expect(stage.calls).toEqual(['install'])
  })

  it('is aborted when no activity joins it', async () => {
    item()
    const late = held()
    stage.answers = [late.step]
    const sending = new FirstAttempts(10)
    await send(sending)
    await expect.poll(() => late.isAborted()).toBe(true)
    expect(sending.take('install/uid-a/job')).toBeUndefined()
  })
})

/** A step of a deployer that ends when the test says so, or when it is stopped. */
function held() {
  let settle: (step: DeployStep) => void = () => undefined
  let signal: AbortSignal | undefined
  return {
    step: (work: ItemWork) =>
      new Promise<DeployStep>((resolve, reject) => {
        settle = resolve
        signal = work.signal
        signal.addEventListener('abort', () => reject(new Error('stopped')))
      }),
    end: (step: DeployStep) => settle(step),
    isAborted: () => signal?.aborted === true,
  }
}
