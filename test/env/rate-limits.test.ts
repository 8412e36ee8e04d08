// The rate limits of failing passes: when their wakes can be claimed, with a clock that the test moves.
// Source: seeds/chaos-mesh-controller-rules.txt "Error Handling" (per item 5 ms doubling to 1000 s; overall 10 per second, burst 100).

import { beforeEach, describe, expect, inject, it } from 'vitest'
import type { Deps } from '../../activities/deps.ts'
import { acknowledgeWakes, claimWakes, nextWakeDue, type Wake } from '../../activities/journal/write/wakes.ts'
import { settleActivities } from '../../activities/run/level/settle.ts'
import { statusActivities } from '../../activities/run/settle.ts'
import { defineLevel, levelMode, nop, type RetryLimits } from '../../workflows/kit/index.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'

const stage = useWriteStage(inject('servers').databaseUrl)
const START = Date.parse('2030-01-01T00:00:00Z')
let clock = START
let deps: Deps
beforeEach(async () => {
  clock = START
  deps = { ...stage().deps, now: () => new Date(clock) }
  await deps.db.deleteFrom('retry_turn').execute()
})

/** A pass of the subject: the `attempt`th retryable failure in a row; 0: a success. */
async function endPass(uid: string, attempt: number, how: { againMs?: number; isOutside?: true } = {}): Promise<void> {
  await statusActivities(deps).settle({
    workflowID: `execution/${uid}/job`,
    runID: 'run',
    jobID: 'job',
    pass: 1,
    change: undefined,
    fault: undefined,
    cause: 'test',
    subject: { kind: 'Execution', uid, namespace: 'n', name: uid },
    againMs: Number.MAX_SAFE_INTEGER,
    attempt,
    ...how,
  })
}
const failPasses = async (count: number) => {
  for (let index = 0; index < count; index++) await endPass(`u${index}`, 1)
}
/** In how many milliseconds the next pass of each subject is due. */
const dueMs = async (): Promise<Readonly<Record<string, number>>> => {
  const wakes = await deps.db.selectFrom('wake').select(['uid', 'due']).execute()
  return Object.fromEntries(wakes.map(({ uid, due }) => [uid, due.getTime() - clock]))
}

/** Claims all due wakes, like a dispatcher. */
async function claim(): Promise<readonly Wake[]> {
  const wakes = await claimWakes(deps.db, { cluster: 'local', owner: 'd', limit: 1000, leaseMs: 1000, now: deps.now() })
  if (wakes.length > 0) await acknowledgeWakes(deps.db, wakes)
  return wakes
}

/** Moves the clock to the next wake. @returns the difference in milliseconds. */
async function sleepUntilDue(): Promise<number> {
  const due = (await nextWakeDue(deps.db, { cluster: 'local' }))?.getTime() ?? Infinity
  const slept = due - clock
  clock = due - 1
  expect(await claim()).toEqual([])
  clock = due
  return slept
}

describe('a subject whose passes fail repeatedly', () => {
  it('waits 5 ms, doubling up to 1000 s, and starts again at 5 ms after a successful pass', async () => {
    const delays: number[] = []
    for (let attempt = 1; attempt <= 22; attempt++) {
      await endPass('u', attempt)
      delays.push(await sleepUntilDue())
      expect(await claim()).toHaveLength(1)
    }
    const doubling = Array.from({ length: 18 }, (_, exponent) => 5 * 2 ** exponent)
    expect(delays).toEqual([...doubling, 1_000_000, 1_000_000, 1_000_000, 1_000_000])
    await endPass('u', 0, { againMs: 3000 })
    expect(await sleepUntilDue()).toBe(3000)
    await claim()
    await endPass('u', 1)
    expect(await sleepUntilDue()).toBe(5)
  })
})

describe('controllers of one kind with their own limits for retries', () => {
  const target = { apiVersion: 'example.com/v1', kind: 'Shop', plural: 'shops' }
  const level = (name: string, retries?: RetryLimits) =>
    defineLevel({ name, target, queries: {}, plan: nop, ...(retries && { settings: { retries } }) })
  const known = [
    level('patient', { firstMs: 300, mostMs: 1000 }),
    level('shy', { perSecond: 0.5, burst: 2 }),
    level('plain'),
  ].map(levelMode)

  /** Fails a pass of each subject. @returns when their next passes are due, in milliseconds from now. */
  async function dueAfterFailure(controller: string, uids: readonly string[], attempt: number): Promise<number[]> {
    const { settleLevel } = settleActivities({
      ...deps,
      controllers: new Map([...deps.controllers, ...known.map((one) => [one.name, one] as const)]),
      modes: { ...deps.modes, [controller]: 'level' },
    })
    for (const uid of uids)
      await settleLevel({
        by: { workflowID: `${controller}/n/${uid}/${uid}`, runID: 'run', pass: 1 },
        subject: { kind: 'Shop', uid, namespace: 'n', name: uid },
        target,
        againMs: Number.MAX_SAFE_INTEGER,
        attempt,
        fault: undefined,
      })
    const due = await dueMs()
    await deps.db.deleteFrom('wake').execute()
    return uids.map((uid) => due[uid] ?? 0)
  }

  it('use their own first and longest delay', async () => {
    const due = { patient: [] as number[], plain: [] as number[] }
    for (const attempt of [1, 2, 3, 30]) {
      due.patient.push(...(await dueAfterFailure('patient', ['u'], attempt)))
      due.plain.push(...(await dueAfterFailure('plain', ['u'], attempt)))
    }
    expect(due).toEqual({ patient: [300, 600, 1000, 1000], plain: [5, 10, 20, 1_000_000] })
  })

  it('have separate budgets in a namespace, and never exceed their longest delay', async () => {
    expect(await dueAfterFailure('shy', ['a', 'b', 'c', 'd'], 1)).toEqual([5, 5, 2000, 4000])
    expect(await dueAfterFailure('plain', ['a', 'b', 'c', 'd'], 1)).toEqual([5, 5, 5, 5])
    clock += 60_000
    expect(await dueAfterFailure('shy', ['a', 'b', 'c'], 1)).toEqual([5, 5, 2000])
  })
})

describe('a failing subject that a script patches a thousand times', () => {
  it('does not delay its neighbours in the namespace, and waits for its own back-off', async () => {
    for (let attempt = 1; attempt <= 1000; attempt++) await endPass('patched', attempt, { isOutside: true })
    await endPass('neighbour', 1)
    expect((await dueMs())['neighbour']).toBe(5)
    await claim()
    await deps.db.deleteFrom('wake').execute()
    await endPass('patched', 1001, { isOutside: true })
    expect(await sleepUntilDue()).toBe(1_000_000)
  }, 180_000)

  it('counts against the budget for retries that no patch caused', async () => {
    await failPasses(100)
    await endPass('retried', 1)
    await endPass('patched', 1, { isOutside: true })
    expect(await dueMs()).toMatchObject({ patched: 5, retried: 100 })
  })
})

describe('three hundred subjects that fail at the same moment', () => {
  it('are retried in a burst of one hundred, and then ten per second', async () => {
    await failPasses(300)
    const claimed: number[] = []
    const seen = new Set<string>()
    for (const ms of [4, 5, 99, 100, 1000, 1999, 2000, 10_000, 20_000]) {
      clock = START + ms
      for (const { uid } of await claim()) seen.add(uid)
      claimed.push(seen.size)
    }
    expect(claimed).toEqual([0, 100, 100, 101, 110, 119, 120, 200, 300])
  })

  it('do not delay a subject that requests another pass without a failure; a long back-off is not shortened', async () => {
    await failPasses(150)
    await endPass('calm', 0, { againMs: 20 })
    await endPass('old', 12)
    expect(await dueMs()).toMatchObject({ calm: 20, old: 10_240 })
  })
})
