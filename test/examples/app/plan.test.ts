// Tests the passes over an App without a server: the tests set the time and inject faults.

import { again, done } from 'pawl/kit'
import type { Deployment } from 'pawl/kit/apps/v1'
import { describeTrace, type FakedFaults, runPass } from 'pawl/kit/testing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { appController } from '../../../examples/app/controllers.ts'
import type { App } from '../../../examples/app/kind.ts'

const HOUR_MS = 3_600_000
const forbidden = { code: 'Forbidden', message: 'no', retryable: true }
const night = { from: '0 20 * * *', until: '0 6 * * *', timeZone: 'Europe/Berlin' }

const shop = (spec: Partial<App['spec']> = {}) => ({
  metadata: { name: 'shop' },
  spec: { image: 'shop:1', replicas: 2, port: 8080, settings: { GREETING: 'hello' }, ...spec },
})

/** The Deployment as its own controller leaves it when all Pods are there. */
function rolledOut(deployment: Deployment | undefined, more: object = {}): Deployment {
  if (deployment === undefined) throw new Error('there is no Deployment')
  const count = deployment.spec?.replicas ?? 0
  const counts = { replicas: count, updatedReplicas: count, availableReplicas: count, readyReplicas: count }
  return { ...deployment, status: { observedGeneration: deployment.metadata.generation, ...counts, ...more } }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
  vi.setSystemTime('2026-03-02T11:00:00Z')
})
afterEach(() => vi.useRealTimers())

/** The requests to the platform. */
const fetched: object[] = []
const calls = { announce: (news: object) => void fetched.push(news) }
afterEach(() => fetched.splice(0))

describe('a new App', () => {
  it('gets a ConfigMap, a Deployment and a Service, and is not ready yet', async () => {
    const { outcome, written, status } = await runPass(appController, { target: shop() })
    expect(outcome).toEqual(done)
    expect(written).toEqual(['apply ConfigMap shop', 'apply Deployment shop', 'apply Service shop'])
    expect(status).toMatchObject({
      paused: false,
      readyReplicas: 0,
      conditions: [
        { type: 'Ready', status: 'False', reason: 'RollingOut', message: expect.stringMatching(/^0 of 2/) as string },
      ],
    })
  })

  it('is ready when all its Pods are ready; the next pass changes nothing', async () => {
    const { next } = await runPass(appController, { target: shop() })
    const deployment = rolledOut(next.state.deployment)
    const second = await runPass(appController, { ...next, state: { ...next.state, deployment }, calls })
    expect(second.written).toEqual([])
    expect(second.status).toMatchObject({ readyReplicas: 2, conditions: [{ status: 'True', reason: 'RolledOut' }] })
    const third = await runPass(appController, second.next)
    expect([third.written, third.status, third.ended]).toEqual([[], {}, 'Converged'])
  })

  it('has the reason Stuck when its Deployment exceeds the progress deadline', async () => {
    const { next } = await runPass(appController, { target: shop() })
    const message = 'ReplicaSet has timed out progressing.'
    const conditions = [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message }]
    const deployment = rolledOut(next.state.deployment, { availableReplicas: 0, conditions })
    const { status } = await runPass(appController, { ...next, state: { ...next.state, deployment }, calls })
    expect(status['conditions']).toMatchObject([{ status: 'False', reason: 'Stuck', message }])
  })
})

describe('the result of a roll-out', () => {
  const ready = async (fails: FakedFaults = {}) => {
    const { next } = await runPass(appController, { target: shop() })
    const state = { ...next.state, deployment: rolledOut(next.state.deployment) }
    return await runPass(appController, { ...next, state, calls, fails })
  }

  it('is reported once, by an Event and to the platform', async () => {
    const { events, next } = await ready()
    const message = '2 of 2 Pods are up to date and ready'
    expect(events).toMatchObject([{ type: 'Normal', reason: 'RolledOut', message }])
    expect(fetched).toEqual([{ app: 'default/shop', reason: 'RolledOut', message }])
    expect((await runPass(appController, { ...next, calls })).events).toEqual([])
    expect(fetched).toHaveLength(1)
  })

  it('is reported again when the platform refuses the request', async () => {
    const closed = { code: 'NotAnnounced', message: 'the platform answers 503', retryable: true }
    const { outcome, next } = await ready({ call: closed })
    expect(outcome.faults).toEqual([closed])
    expect(next.target.status?.conditions).toMatchObject([{ reason: 'RolledOut' }])
    expect((await runPass(appController, { ...next, calls })).status).toEqual({ announced: 'RolledOut' })
  })

  it('can be reported again when another roll-out starts', async () => {
    const { next } = await ready()
    const deployment = rolledOut(next.state.deployment, { availableReplicas: 1 })
    const changed = await runPass(appController, { ...next, state: { ...next.state, deployment }, calls })
    expect(changed.status).toMatchObject({ announced: null, conditions: [{ reason: 'RollingOut' }] })
  })
})

describe('changed settings of an App', () => {
  const annotationOf = (deployment: Deployment | undefined) =>
    deployment?.spec?.template.metadata?.annotations?.['app.example.pawl.dev/settings']

  it('replace its Pods, and the ConfigMap loses removed settings', async () => {
    const { next } = await runPass(appController, { target: shop() })
    const changed = shop({ settings: { COLOR: 'red' } })
    const course = await runPass(appController, { target: changed, state: next.state })
    expect(course.written).toEqual(['apply ConfigMap shop', 'apply Deployment shop'])
    expect(course.next.state.settings?.data).toEqual({ COLOR: 'red' })
    expect(annotationOf(course.next.state.deployment)).not.toBe(annotationOf(next.state.deployment))
  })

  it('replace nothing when only their order differs', async () => {
    const { next } = await runPass(appController, { target: shop({ settings: { A: '1', B: '2' } }) })
    const { written } = await runPass(appController, {
      target: shop({ settings: { B: '2', A: '1' } }),
      state: next.state,
    })
    expect(written).toEqual([])
  })

  it('start no Pods while the ConfigMap cannot be written', async () => {
    const fails = { apply: ({ kind }: { kind: string }) => (kind === 'ConfigMap' ? forbidden : undefined) }
    const { written, trace } = await runPass(appController, { target: shop(), fails })
    expect(written).toEqual(['apply Service shop'])
    expect(describeTrace(trace).split('\n')).toEqual([
      '✗ joinOrdered: Forbidden: no (tried again)',
      '├─ ✗ always: Forbidden: no (tried again)',
      '│  ├─ ✗ joinOrdered: Forbidden: no (tried again)',
      '│  │  ├─ ✗ sequential: Forbidden: no (tried again)',
      '│  │  │  ├─ ✗ applySettings: Forbidden: no (tried again)',
      '│  │  │  └─ – applyDeployment',
      '│  │  ├─ ✓ applyService',
      '│  │  └─ ✓ reportReadiness',
      '│  └─ ✓ reportReady',
      '└─ ✓ announce',
    ])
  })
})

describe('an App with a health check', () => {
  const probeOf = (deployment: Deployment | undefined) => deployment?.spec?.template.spec?.containers[0]?.readinessProbe

  it('has a readiness probe until the field spec.health is removed', async () => {
    const first = await runPass(appController, { target: shop({ health: '/healthz' }) })
    expect(probeOf(first.next.state.deployment)).toEqual({ httpGet: { path: '/healthz', port: 8080 } })
    const { written, next } = await runPass(appController, { target: shop(), state: first.next.state })
    expect(written).toEqual(['apply Deployment shop'])
    expect(next.state.deployment?.spec?.template.spec?.containers).toHaveLength(1)
    expect(probeOf(next.state.deployment)).toBeUndefined()
    expect((await runPass(appController, { target: shop(), state: next.state })).written).toEqual([])
  })
})

describe('an App with a pause', () => {
  const replicasAt = async (time: string) => {
    vi.setSystemTime(time)
    const { next, outcome, status } = await runPass(appController, { target: shop({ pause: night }) })
    return { replicas: next.state.deployment?.spec?.replicas, outcome, changesAt: status['changesAt'] }
  }

  it('runs its Pods before the pause and schedules a pass for the beginning of the pause', async () => {
    expect(await replicasAt('2026-03-02T11:00:00Z')).toEqual({
      replicas: 2,
      outcome: again(8 * HOUR_MS),
      changesAt: '2026-03-02T19:00:00Z',
    })
  })

  it('runs no Pods during the pause and schedules a pass for the end of the pause', async () => {
    expect(await replicasAt('2026-03-02T19:00:00Z')).toMatchObject({ replicas: 0, outcome: again(10 * HOUR_MS) })
    expect(await replicasAt('2026-03-03T05:00:00Z')).toMatchObject({ replicas: 2 })
  })

  it('has the reason Paused when its last Pod is gone', async () => {
    vi.setSystemTime('2026-03-02T22:00:00Z')
    const { next } = await runPass(appController, { target: shop({ pause: night }) })
    const deployment = rolledOut(next.state.deployment)
    const { status } = await runPass(appController, { ...next, state: { ...next.state, deployment }, calls })
    expect(status['conditions']).toMatchObject([{ status: 'False', reason: 'Paused' }])
  })

  it.each([
    [{ ...night, from: 'at eight' }, "spec.pause.from: found 'at eight' with time zone 'Europe/Berlin'"],
    [{ ...night, timeZone: 'Mars' }, "spec.pause.from: found '0 20 * * *' with time zone 'Mars'"],
    [{ ...night, until: '0 99 * * *' }, "spec.pause.until: found '0 99 * * *' with time zone 'Europe/Berlin'"],
  ])('keeps its Pods and reports a fault when the pause is invalid: %j', async (pause, message) => {
    const { outcome, next } = await runPass(appController, { target: shop({ pause }) })
    expect(outcome.faults).toMatchObject([{ code: 'InvalidPause', retryable: false }])
    expect(outcome.faults[0]?.message).toContain(message)
    expect(next.target.status?.conditions).toMatchObject([{ status: 'False', reason: 'InvalidPause' }])
    expect(next.state.deployment?.spec?.replicas).toBe(2)
  })
})

describe('an App whose Deployment or Service name is taken', () => {
  const taken = 'Deployment default/shop is there and belongs to nobody'
  const [notOwned, stateNotOwned] = ['NotOwned', 'StateNotOwned'].map((code) => ({
    code,
    message: taken,
    retryable: false,
  }))
  const inTheWay: FakedFaults = {
    apply: ({ kind }) => (kind === 'Deployment' ? notOwned : undefined),
    refresh: (state) => (state === 'deployment' ? stateNotOwned : undefined),
  }

  it('is not ready, names the existing object, and announces nothing', async () => {
    const { status, outcome } = await runPass(appController, { target: shop(), fails: inTheWay, calls })
    expect(outcome.faults).toEqual([notOwned, stateNotOwned])
    expect(status['conditions']).toMatchObject([{ type: 'Ready', status: 'False', reason: 'NotOwned' }])
    expect(messageOf(status)).toContain(taken)
    expect(fetched).toEqual([])
  })

  it('becomes ready after the existing object is gone', async () => {
    const blocked = await runPass(appController, { target: shop(), fails: inTheWay })
    const { next } = await runPass(appController, blocked.next)
    expect(next.target.status?.conditions).toMatchObject([{ status: 'False', reason: 'RollingOut' }])
    const deployment = rolledOut(next.state.deployment)
    const ready = await runPass(appController, { ...next, state: { ...next.state, deployment }, calls })
    expect(ready.status).toMatchObject({ conditions: [{ status: 'True', reason: 'RolledOut' }] })
    expect((await runPass(appController, ready.next)).status).toEqual({})
  })

  it('is not ready when only its Service is missing, although its Pods are ready', async () => {
    const { next } = await runPass(appController, { target: shop() })
    const state = { ...next.state, deployment: rolledOut(next.state.deployment), service: undefined }
    const fails: FakedFaults = { apply: ({ kind }) => (kind === 'Service' ? notOwned : undefined) }
    const { status } = await runPass(appController, { ...next, state, fails, calls })
    expect(status).toMatchObject({ readyReplicas: 2, conditions: [{ status: 'False', reason: 'NotOwned' }] })
    expect(fetched).toEqual([])
  })

  function messageOf(status: Readonly<Record<string, unknown>>): string {
    return (status['conditions'] as { message: string }[])[0]?.message ?? ''
  }
})
