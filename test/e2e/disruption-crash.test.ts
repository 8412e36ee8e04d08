// Tests that a Disruption ends in the same state, with the same number of chaos pods, whatever fault interrupts its
// injection or its clean-up: X1, X2, X3, X5 of spec/chaos.md 8.5.
//
//   D1. Several Disruptions stop at different writes. Then one kill of the process interrupts all of them
//       (test/support/chaos/frozen-runs.ts).
//   D2. An Event may be lost if the worker dies while it sends the Event. Events only repeat facts of the status
//       (activities/kube/events.ts).
//
// `npm test` kills the worker at a sample of the writes (test/matrices.md). The long form kills worker and bridge
// at all writes, and makes the API server unavailable for a minute.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'

import type { OnWrite, WritePoint } from '../support/faults/http-proxy.ts'
import {
  CLEANUP_WRITES,
  type Course,
  CrashCourse,
  type CrashStage,
  INJECTION_WRITES,
  rearm,
  writesOf,
} from '../support/chaos/crash-course.ts'
import { FrozenRuns, type Held } from '../support/chaos/frozen-runs.ts'
import { ChaosKubelet } from '../support/chaos/kubelet.ts'
import { PlayedKubelet } from '../support/chaos/played-kubelet.ts'
import { SHORT_TIMEOUTS, useChaos } from '../support/chaos/tenants.ts'
import { RESTART_MS } from '../support/faults/lane.ts'
import { byForm, sampleOf } from '../support/matrix/form.ts'

// A Disruption takes seconds, but a process starts slowly on a busy machine.
const LIMIT_MS = 400_000
const AWAY_MS = byForm(3000, 60_000)

const chaos = useChaos('disruption-crash', ['shop'], undefined, { proxied: true, workerFlags: SHORT_TIMEOUTS })
let stage: CrashStage
let expected: Course

beforeAll(async () => {
  const kubelet = new ChaosKubelet(chaos.of('shop').cluster.kube)
  stage = { chaos, kubelet, played: new PlayedKubelet(kubelet), writes: [] }
  await chaos.of('shop').makeNode('n1')
  const course = new CrashCourse(stage, 'undisturbed')
  await course.inject()
  expected = await course.cleanUp()
}, LIMIT_MS)
afterAll(async () => {
  await stage.played.stop()
})

describe('an undisturbed Disruption', () => {
  it('makes exactly the writes at which the other tests interrupt it', () => {
    // A repeated pass may create the same Event again, which the API server rejects.
    const written = writesOf(stage, 'undisturbed').flatMap(({ label, status }) => (status < 300 ? [label] : []))
    const points = [...INJECTION_WRITES, ...CLEANUP_WRITES].map(({ label }) => label)
    // The order of the two readiness writes may vary.
    const without = (labels: readonly string[]) => labels.filter((label) => label !== 'PATCH disruptions/status').sort()
    expect(without(written)).toEqual(without(points))
  })

  it('is injected once, undone, and leaves nothing', () => {
    expect(expected).toMatchObject({
      injected: { injectionStatus: 'Injected', runCount: 1, targets: ['<run>'] },
      chaosPods: ['cpu-pressure <run>', 'network-disruption <run>'],
      made: ['cpu-pressure <run>', 'network-disruption <run>'],
      deleted: 2,
      left: [],
      told: [
        ...['ChaosPodCreated', 'ChaosPodCreated', 'Cleaned', 'Created', 'Finished'],
        ...['Disrupted of the target', 'Disrupted of the target'],
      ],
    })
  })
})

interface Strike extends Held {
  readonly half: 'injection' | 'cleanUp'
}

function strikesOn(half: Strike['half'], points: readonly WritePoint[]): readonly Strike[] {
  return (['before', 'after'] as const).flatMap((when) =>
    points.map((at, index): Strike => ({ half, when, at, name: `${half.toLowerCase()}${when}${index}` })),
  )
}
const ALL = [...strikesOn('injection', INJECTION_WRITES), ...strikesOn('cleanUp', CLEANUP_WRITES)]
// A worker runs ten workflow tasks at a time; each stopped Disruption occupies one.
const AT_ONCE = 6
const PARTS = byForm(['worker'] as const, ['worker', 'bridge'] as const)
const STRIKES = sampleOf('disruption-crash', ALL, AT_ONCE)
const BATCHES = PARTS.flatMap((part) => {
  // Each batch of the long form mixes both halves: 5 has no divisor in common with the number of strikes.
  const mixed = STRIKES.map((_, index) => STRIKES[(index * 5) % STRIKES.length]!)
  const batches = Array.from({ length: Math.ceil(STRIKES.length / AT_ONCE) }, (_, at) =>
    mixed.slice(at * AT_ONCE, (at + 1) * AT_ONCE).map((strike) => ({ ...strike, name: `${part}${strike.name}` })),
  )
  return batches.map((batch) => ({ part, strikes: batch, at: batch.map(textOf).join('; ') }))
})

describe('X2: Disruptions whose process is killed', () => {
  it.each(BATCHES)(
    'end like any other: $part, $at',
    async ({ part, strikes }) => {
      const { pawl } = chaos.tenants
      const runs = strikes.map((strike) => ({ strike, course: new CrashCourse(stage, strike.name) }))
      const of = (half: Strike['half']) => runs.filter(({ strike }) => strike.half === half)
      await Promise.all(of('cleanUp').map(({ course }) => course.inject()))
      const frozen = new FrozenRuns(strikes)
      rearm(stage, undefined, frozen.disturb)
      const injected = Promise.all(of('injection').map(({ course }) => course.inject()))
      const undone = Promise.all(of('cleanUp').map(({ course }) => course.cleanUp()))
      await frozen.allHeld()
      await pawl.kill(part)
      frozen.release(part === 'worker' ? 'cut' : 'go on')
      await (part === 'worker' ? pawl.startWorker() : pawl.startBridge())
      const late = await undone
      await injected
      const early = await Promise.all(of('injection').map(({ course }) => course.cleanUp()))
      rearm(stage)
      const courses = [...of('injection'), ...of('cleanUp')].map(({ strike }, index) => ({
        title: textOf(strike),
        isOfEvent: strike.at.label === 'POST events',
        course: [...early, ...late][index]!,
      }))
      for (const { title, isOfEvent, course } of courses) {
        expect.soft({ ...course, told: [] }, title).toEqual({ ...expected, told: [] })
        // D2
        expect.soft(new Set(expected.told), title).toEqual(new Set([...expected.told, ...course.told]))
        expect.soft(course.told.length, title).toBeLessThanOrEqual(expected.told.length)
        if (!isOfEvent)
          expect
            .soft(
              course.told.filter((one) => one.startsWith('Disrupted')),
              title,
            )
            .toHaveLength(2)
      }
    },
    LIMIT_MS,
  )
})

describe('a Disruption ends like any other', () => {
  const whole = async (name: string, disturb: () => OnWrite) => {
    const course = new CrashCourse(stage, name)
    rearm(stage, undefined, disturb())
    await course.inject()
    rearm(stage, undefined, disturb())
    const ended = await course.cleanUp()
    rearm(stage)
    return ended
  }

  it(
    'X1: when the first write to each object is a conflict',
    async () => {
      let refusals = 0
      const disturb = () => {
        const seen = new Set<string>()
        return (label: string, _nth: number, path: string) => {
          // For a create, 409 has another meaning: the object exists.
          if (label.startsWith('POST ') || seen.has(`${label} ${path}`)) return undefined
          seen.add(`${label} ${path}`)
          refusals++
          return { status: 409, reason: 'Conflict' }
        }
      }
      expect(await whole('conflicts', disturb)).toEqual(expected)
      // Finalizer and status; two deletions and two releases of chaos pods, status and finalizer.
      expect(refusals).toBeGreaterThanOrEqual(8)
    },
    LIMIT_MS,
  )

  it(
    'X2: when the answer to the first write to each object is lost',
    async () => {
      const disturb = () => {
        const seen = new Set<string>()
        return (label: string, _nth: number, path: string, sent: string) => {
          const key = `${label} ${path} ${label.startsWith('POST ') ? sent : ''}`
          if (seen.has(key)) return undefined
          seen.add(key)
          return 'lost after' as const
        }
      }
      const { told, ...course } = await whole('answers', disturb)
      const { told: all, ...others } = expected
      expect(course).toEqual(others)
      // The Event about a create is missing if a repeated create found the existing pod.
      expect(told).toEqual(expect.arrayContaining(all.filter((one) => one !== 'ChaosPodCreated')))
    },
    LIMIT_MS,
  )

  it(
    'X3: when the API server is away during the clean-up, and is never stuck',
    async () => {
      const { worker, bridge } = chaos.tenants.proxies
      const course = new CrashCourse(stage, 'away')
      await course.inject()
      let backAt = 0
      const isAway = () => Date.now() < backAt
      const instead = () => (isAway() ? { status: 503, reason: 'ServiceUnavailable' } : undefined)
      const act = () => {
        backAt = Date.now() + AWAY_MS
        worker.reads = { instead }
        bridge.reads = { instead }
        bridge.cutWatches()
        return Promise.resolve('cut' as const)
      }
      rearm(stage, { at: { label: 'DELETE pods', nth: 1 }, when: 'after', act }, () =>
        isAway() ? 'lost before' : undefined,
      )
      const ended = await course.cleanUp()
      expect(worker.isArmed).toBe(false)
      expect(Date.now()).toBeGreaterThanOrEqual(backAt)
      worker.reads = {}
      bridge.reads = {}
      const { told, ...state } = ended
      const { told: usual, ...others } = expected
      expect(state).toEqual(others)
      // An Event that a failed pass writes is lost, unless the API server has returned by then.
      expect(told.filter((reason) => reason !== 'ServiceUnavailable')).toEqual(usual)
      const said = writesOf(stage, 'away').map(({ body }) => JSON.stringify(body))
      expect(said.filter((body) => body.includes('"isStuckOnRemoval":true'))).toEqual([])
    },
    LIMIT_MS,
  )

  it(
    'X5: when all events arrive twice and late',
    async () => {
      const { bridge } = chaos.tenants.proxies
      const made = () => writesOf(stage, 'twice').filter(({ label, status }) => label === 'POST pods' && status === 201)
      bridge.reads = {
        async lines({ plural }, line) {
          if (plural === 'pods' && line.includes('chaos-twice'))
            await vi.waitFor(() => expect(made()).toHaveLength(2), { timeout: RESTART_MS, interval: 20 })
          return [line, line]
        },
      }
      bridge.cutWatches()
      const course = new CrashCourse(stage, 'twice')
      await course.inject()
      const ended = await course.cleanUp()
      bridge.reads = {}
      expect(ended).toEqual(expected)
    },
    LIMIT_MS,
  )
})

function textOf({ half, when, at }: Strike): string {
  return `${half} ${when} ${at.label} ${at.nth}`
}
