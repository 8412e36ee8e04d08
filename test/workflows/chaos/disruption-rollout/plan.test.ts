// Passes over a DisruptionRollout without servers. Acceptance scenario: spec/chaos.md 4.4, C8.

import { describe, expect, it } from 'vitest'

import { DEFAULT_CONFIG } from '../../../../workflows/chaos/config.ts'
import { FINALIZER, SCHEDULED_AT_ANNOTATION } from '../../../../workflows/chaos/contract.ts'
import { disruptionRolloutController } from '../../../../workflows/chaos/disruption-rollout/controller.ts'
import type { DisruptionRollout } from '../../../../workflows/chaos/disruption-rollout/kind.ts'
import { type RolloutPassState, rolloutTargetView } from '../../../../workflows/chaos/disruption-rollout/plan.ts'
import type { Child } from '../../../../workflows/chaos/parent-pass.ts'
import type { Deployment } from '../../../../workflows/kit/kind/kubernetes/apps/v1.ts'
import type { JsonValue } from '../../../../workflows/kit/index.ts'
import { runPass, stored } from '../../../../workflows/kit/testing/index.ts'
import { rolloutSpec, useClock } from '../parents.ts'

const clock = useClock('03:00:00')

interface Given {
  readonly spec?: object
  readonly status?: unknown
  readonly metadata?: object
  readonly state?: Partial<RolloutPassState>
  readonly settings?: object
  readonly fails?: Parameters<typeof runPass<RolloutPassState, DisruptionRollout>>[1]['fails']
}

async function pass({ spec = {}, status = {}, metadata, state, settings, fails }: Given) {
  const target = {
    metadata: { name: 'game', namespace: 'shop', uid: 'uid-game', finalizers: [FINALIZER], ...metadata },
    spec: rolloutSpec(spec),
    status,
  } as unknown as DisruptionRollout
  return await runPass(disruptionRolloutController, {
    target,
    state: state ?? {},
    ...(fails && { fails }),
    ...(settings && { settings: settings as JsonValue }),
  })
}

const seen = (container: object = {}, replicas = 1) =>
  rolloutTargetView(
    stored<Deployment>({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'shop' },
      spec: {
        replicas,
        selector: { matchLabels: { app: 'shop' } },
        template: { spec: { containers: [{ name: 'app', image: 'shop:1', ...container }] } },
      },
    }),
  )
const NEWER = { image: 'shop:2' }
const MAKES = ['create Disruption disruption-rollout-game']

/** The status after the first observation. */
async function looked(): Promise<object> {
  const { next } = await pass({ state: { deployment: seen() } })
  return next.target.status as object
}

describe('a pass over a DisruptionRollout', () => {
  it('does nothing but emit an Event when operators have disabled rollouts', async () => {
    const status = await looked()
    clock('03:01:00')
    const given = { status, state: { deployment: seen(NEWER) } }
    const settings = {
      ...DEFAULT_CONFIG,
      controller: { ...DEFAULT_CONFIG.controller, disruptionRolloutEnabled: false },
    }
    const off = await pass({ ...given, settings })
    expect([off.written, off.status, off.outcome.againMs]).toEqual([[], {}, 300_000])
    expect(off.events).toMatchObject([{ type: 'Warning', reason: 'Disabled' }])
    expect((await pass(given)).written).toEqual(MAKES)
  })

  it('records the first observation and creates nothing (C8)', async () => {
    const first = await pass({ state: { deployment: seen() } })
    expect([first.written, first.ended]).toEqual([[], 'Converged'])
    expect(Object.keys(first.status).sort()).toEqual([
      ...['latestContainersHash', 'latestInitContainersHash', 'latestTargetResource'],
    ])
    const again = await pass({ status: first.next.target.status, state: { deployment: seen() } })
    expect([again.written, again.status]).toEqual([[], {}])
  })

  it.each<readonly [string, object]>([
    ['image', NEWER],
    ['environment', { env: [{ name: 'A', value: '1' }] }],
  ])('makes one Disruption for a change of the %s (C8)', async (_, container) => {
    const status = await looked()
    clock('03:10:00')
    const changed = await pass({ status, state: { deployment: seen(container) } })
    expect(changed.writes).toMatchObject([
      {
        verb: 'create',
        object: {
          metadata: {
            name: 'disruption-rollout-game',
            namespace: 'shop',
            annotations: { [SCHEDULED_AT_ANNOTATION]: '2026-01-02T03:10:00Z' },
          },
          spec: { selector: { app: 'shop' } },
        },
      },
    ])
    expect(changed.status).toMatchObject({
      lastContainerChangeTime: '2026-01-02T03:10:00Z',
      lastScheduleTime: '2026-01-02T03:10:00Z',
    })
    clock('03:11:00')
    const gone = await pass({ status: changed.next.target.status, state: { deployment: seen(container) } })
    expect([gone.written, gone.status]).toEqual([[], {}])
  })

  it('creates nothing for another number of replicas (C8)', async () => {
    const status = await looked()
    const { written, status: said } = await pass({ status, state: { deployment: seen({}, 5) } })
    expect([written, said]).toEqual([[], {}])
  })

  it('creates nothing while a Disruption exists, and then one for the last change', async () => {
    const status = await looked()
    clock('03:10:00')
    const first = await pass({ status, state: { deployment: seen(NEWER) } })
    clock('03:11:00')
    const newest = seen({ image: 'shop:3' })
    const there = await pass({
      status: first.next.target.status,
      state: { deployment: newest, children: first.next.state.children },
    })
    expect(there.written).toEqual([])
    clock('03:12:00')
    const next = await pass({ status: there.next.target.status, state: { deployment: newest } })
    expect(next.written).toEqual(MAKES)
    const late = await pass({
      spec: { delayedStartTolerance: '59s' },
      status: there.next.target.status,
      state: { deployment: newest },
    })
    expect([late.written, late.logged.length]).toEqual([[], 1])
    expect(late.status).toEqual({ lastSkippedTime: '2026-01-02T03:11:00Z' })
    expect(late.events).toMatchObject([
      {
        type: 'Warning',
        reason: 'DisruptionRolloutSkipped',
        message: expect.stringContaining(
          'the change of deployment "shop" at 2026-01-02T03:11:00Z was skipped',
        ) as string,
      },
    ])
    const stillLate = await pass({
      spec: { delayedStartTolerance: '59s' },
      status: late.next.target.status,
      state: { deployment: newest },
    })
    expect([stillLate.written, stillLate.status, stillLate.logged, stillLate.events]).toEqual([[], {}, [], []])
  })

  it('creates one for a change in the same second as the last Disruption', async () => {
    const first = await pass({ status: await looked(), state: { deployment: seen(NEWER) } })
    const newest = { deployment: seen({ image: 'shop:3' }) }
    const second = await pass({ status: first.next.target.status, state: newest })
    expect(second.written).toEqual(MAKES)
    expect((await pass({ status: second.next.target.status, state: newest })).written).toEqual([])
  })

  it('creates no second one when the status write after the creation has failed', async () => {
    const status = await looked()
    clock('03:10:00')
    const first = await pass({ status, state: { deployment: seen(NEWER) } })
    const unwritten = { ...first.next.target.status, lastScheduleTime: undefined }
    clock('03:10:05')
    const { children } = first.next.state
    const healed = await pass({ status: unwritten, state: { deployment: seen(NEWER), children } })
    expect(healed.written).toEqual([])
    expect(healed.status).toEqual({ lastScheduleTime: '2026-01-02T03:10:00Z' })
  })

  it('creates nothing before the status contains the change', async () => {
    const status = await looked()
    const fails = { status: { code: 'Forbidden', message: 'no', retryable: true } }
    const { written } = await pass({ status, state: { deployment: seen(NEWER) }, fails })
    expect(written).toEqual([])
  })

  it('ignores changes of the target and containers recorded by another controller', async () => {
    const status = await looked()
    const spec = { targetResource: { kind: 'statefulset', name: 'db' } }
    const turned = await pass({ spec, status, state: { statefulSet: seen(NEWER) } })
    expect(turned.written).toEqual([])
    expect(turned.status).toMatchObject({ latestTargetResource: 'statefulset/db' })
    const foreign = { latestContainersHash: { app: 'md5' }, lastContainerChangeTime: '2026-01-02T02:59:59Z' }
    const taken = await pass({ status: foreign, state: { deployment: seen() } })
    expect(taken.written).toEqual([])
    expect(taken.status).toMatchObject({ lastContainerChangeTime: null })
  })

  it('records the first time of a missing target, and continues when the target is back', async () => {
    const status = await looked()
    const missing = await pass({ status })
    expect(missing.status).toEqual({ targetResourcePreviouslyMissing: '2026-01-02T03:00:00Z' })
    const back = await pass({ status: missing.next.target.status, state: { deployment: seen(NEWER) } })
    expect(back.written).toEqual(MAKES)
    expect(back.status).toMatchObject({ targetResourcePreviouslyMissing: null })
  })

  it('creates nothing during an emergency stop', async () => {
    const status = await looked()
    const state = { deployment: seen(NEWER), home: { name: 'shop', stop: '' } }
    const { written, events } = await pass({ status, state })
    expect(written).toEqual([])
    expect(events).toMatchObject([{ reason: 'EmergencyStop' }])
  })

  it('rejects an invalid spec without a webhook', async () => {
    const { written, events } = await pass({
      spec: { disruptionTemplate: { count: 1 } },
      state: { deployment: seen() },
    })
    expect([written, events]).toMatchObject([[], [{ reason: 'InvalidSpec' }]])
  })
})

describe('a pass over a DisruptionRollout that is being deleted', () => {
  it('deletes its Disruption first, and waits until it is gone', async () => {
    const metadata = { deletionTimestamp: '2026-01-02T03:00:00Z' }
    const child: Child = {
      apiVersion: 'chaos.datadoghq.com/v1beta1',
      kind: 'Disruption',
      metadata: {
        name: 'disruption-rollout-game',
        namespace: 'shop',
        uid: 'uid-child',
        resourceVersion: '1',
        creationTimestamp: '2026-01-02T02:00:00Z',
      },
    }
    const first = await pass({ metadata, state: { children: [child] } })
    expect(first.written).toEqual(['remove Disruption disruption-rollout-game'])
    const going = { ...child, metadata: { ...child.metadata, deletionTimestamp: '2026-01-02T03:00:00Z' } }
    const waiting = await pass({ metadata, state: { children: [going] } })
    expect([waiting.written, waiting.ended, waiting.finalizer]).toEqual([[], undefined, undefined])
    const last = await pass({ metadata })
    expect([last.ended, last.finalizer]).toEqual(['Deleted', 'taken off'])
  })
})
