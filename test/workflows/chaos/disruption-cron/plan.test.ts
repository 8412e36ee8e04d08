// Passes over a DisruptionCron without servers. Acceptance scenarios: spec/chaos.md 4.4, C1 to C6.

import { describe, expect, it, vi } from 'vitest'

import { DEFAULT_CONFIG } from '../../../../workflows/chaos/config.ts'
import { DISRUPTION_CRON_NAME_LABEL, FINALIZER, SCHEDULED_AT_ANNOTATION } from '../../../../workflows/chaos/contract.ts'
import { disruptionCronController } from '../../../../workflows/chaos/disruption-cron/controller.ts'
import type { DisruptionCron } from '../../../../workflows/chaos/disruption-cron/kind.ts'
import type { CronState } from '../../../../workflows/chaos/disruption-cron/plan.ts'
import type { Child } from '../../../../workflows/chaos/parent-pass.ts'
import type { JsonValue } from '../../../../workflows/kit/index.ts'
import { runPass } from '../../../../workflows/kit/testing/index.ts'
import { cronSpec, useClock } from '../parents.ts'

const CREATED = '2026-01-02T03:00:30Z'
const clock = useClock('03:00:31')

interface Given {
  readonly spec?: object
  readonly status?: object
  readonly metadata?: object
  readonly state?: Partial<CronState>
  readonly settings?: object
}

const SHOP = { selector: { matchLabels: { app: 'shop' } } }
const TOLD = { observedGeneration: 1, observedSchedule: '* * * * *' }

async function pass({ spec = {}, status = TOLD, metadata, state, settings }: Given = {}) {
  const target = {
    metadata: {
      name: 'game',
      namespace: 'shop',
      uid: 'uid-game',
      creationTimestamp: CREATED,
      finalizers: [FINALIZER],
      ...metadata,
    },
    spec: cronSpec({ schedule: '* * * * *', ...spec }),
    status,
  } as unknown as DisruptionCron
  const result = await runPass(disruptionCronController, {
    target,
    state: { deployment: SHOP, ...state },
    ...(settings && { settings: settings as JsonValue }),
  })
  return { ...result, /** The status after the pass. */ after: result.next.target.status as object }
}

const child = (scheduledAt: string | undefined, metadata: object = {}): Child => ({
  apiVersion: 'chaos.datadoghq.com/v1beta1',
  kind: 'Disruption',
  metadata: {
    name: 'disruption-cron-game',
    namespace: 'shop',
    uid: 'uid-child',
    resourceVersion: '1',
    creationTimestamp: '2026-01-02T03:01:01Z',
    ...(scheduledAt !== undefined && { annotations: { [SCHEDULED_AT_ANNOTATION]: `2026-01-02T${scheduledAt}Z` } }),
    ...metadata,
  },
})
const reasonsOf = (events: readonly { readonly reason: string }[]) => events.map(({ reason }) => reason)
/** This Event accompanies the first one. */
const manifestOf = ([first]: readonly { readonly annotations?: Readonly<Record<string, string>> }[]) =>
  JSON.parse(first?.annotations?.['disruption_cron'] ?? 'null') as unknown
const MAKES = ['create Disruption disruption-cron-game']

describe('a pass over a DisruptionCron', () => {
  it('waits for the first scheduled time, and emits an Event about its spec', async () => {
    const { written, outcome, events, status } = await pass({ status: {} })
    expect([written, outcome.laterMs]).toEqual([[], 29_000])
    expect(events).toMatchObject([{ type: 'Normal', reason: 'DisruptionCronCreated', occasion: '1' }])
    expect(status).toEqual({ ...TOLD, nextScheduleTime: '2026-01-02T03:01:00Z' })
    expect(manifestOf(events)).toEqual({
      apiVersion: 'chaos.datadoghq.com/v1beta1',
      kind: 'DisruptionCron',
      metadata: { name: 'game', namespace: 'shop', uid: 'uid-game' },
      spec: cronSpec({ schedule: '* * * * *' }),
    })
  })

  it('creates a Disruption for the pods of its target at the scheduled time (C1)', async () => {
    clock('03:01:02')
    const { writes, status, outcome } = await pass({ metadata: { annotations: { team: 'a' } } })
    expect(writes).toMatchObject([
      {
        verb: 'create',
        object: {
          apiVersion: 'chaos.datadoghq.com/v1beta1',
          kind: 'Disruption',
          metadata: {
            name: 'disruption-cron-game',
            namespace: 'shop',
            labels: { [DISRUPTION_CRON_NAME_LABEL]: 'game' },
            annotations: { team: 'a', [SCHEDULED_AT_ANNOTATION]: '2026-01-02T03:01:00Z' },
          },
          spec: { selector: { app: 'shop' }, count: '50%' },
        },
      },
    ])
    expect(status).toMatchObject({
      lastScheduleTime: '2026-01-02T03:01:00Z',
      history: [{ name: 'disruption-cron-game', kind: 'Disruption' }],
    })
    expect(outcome.laterMs).toBe(58_000)
  })

  it.each([
    ['whose schedule was edited starts nothing for times before', { observedSchedule: '0 0 1 1 *' }, []],
    ['of an earlier version that has seen the edit starts the time that is due', { observedGeneration: 1 }, ['create']],
  ])('%s', async (_, status, verbs) => {
    clock('03:02:02')
    const made = await pass({ status: { observedGeneration: 1, lastScheduleTime: CREATED, ...status } })
    expect(made.writes.map(({ verb }) => verb)).toEqual(verbs)
    expect(made.status).toMatchObject({ observedSchedule: '* * * * *', nextScheduleTime: '2026-01-02T03:03:00Z' })
  })

  it('owns the Disruption, and creates no second one for the same time', async () => {
    clock('03:01:02')
    const first = await pass()
    expect(first.next.state.children).toMatchObject([
      { metadata: { ownerReferences: [{ kind: 'DisruptionCron', name: 'game', uid: 'uid-game', controller: true }] } },
    ])
    const after = await pass({ status: first.after })
    expect([after.written, after.status]).toEqual([[], {}])
  })

  it('skips a time while a Disruption exists, and creates one at the next time (C1)', async () => {
    clock('03:02:01')
    const status = { ...TOLD, lastScheduleTime: '2026-01-02T03:01:00Z' }
    const there = await pass({ status, state: { children: [child('03:01:00')] } })
    expect([there.written, there.outcome.laterMs]).toEqual([[], 59_000])
    expect(there.status).toMatchObject({ lastSkippedTime: '2026-01-02T03:02:00Z', lastSkippedReason: 'StillThere' })
    expect(there.events).toMatchObject([
      {
        type: 'Normal',
        reason: 'DisruptionCronSkipped',
        message:
          'the run at 2026-01-02T03:02:00Z was skipped: the previous Disruption "disruption-cron-game" still existed; delete it, or set controller.expiredDisruptionGCDelay in the chaos configuration (StillThere); next run at 2026-01-02T03:03:00Z',
      },
    ])
    clock('03:02:30')
    const removed = await pass({ status: there.after })
    expect([removed.written, removed.outcome.laterMs]).toEqual([[], 30_000])
    clock('03:03:00')
    const next = await pass({ status: there.after })
    expect(next.written).toEqual(MAKES)
    expect(next.status).toMatchObject({ lastScheduleTime: '2026-01-02T03:03:00Z' })
  })

  it('restores a missing status from the Disruption, and creates no second one (C2)', async () => {
    clock('03:01:02')
    const { written, status } = await pass({ state: { children: [child('03:01:00')] } })
    expect(written).toEqual([])
    expect(status).toEqual({
      lastScheduleTime: '2026-01-02T03:01:00Z',
      nextScheduleTime: '2026-01-02T03:02:00Z',
      history: [{ name: 'disruption-cron-game', kind: 'Disruption', createdAt: '2026-01-02T03:01:01Z' }],
    })
    const gone = await pass({ status: { ...TOLD, ...status } })
    expect(gone.written).toEqual([])
  })

  it('creates nothing while it is paused, and then makes up only for the last time within the tolerance (C3)', async () => {
    clock('03:10:10')
    const before = { ...TOLD, nextScheduleTime: '2026-01-02T03:01:00Z' }
    const paused = await pass({ spec: { paused: true }, status: before })
    expect([paused.written, paused.ended]).toEqual([[], 'Converged'])
    expect(paused.status).toEqual({ pausedSince: '2026-01-02T03:10:10Z', nextScheduleTime: null })
    clock('03:10:20')
    const still = await pass({ spec: { paused: true }, status: paused.after })
    expect([still.written, still.status]).toEqual([[], {}])
    const resumed = await pass({ status: paused.after })
    expect(resumed.written).toEqual(MAKES)
    expect(resumed.status).toMatchObject({
      lastScheduleTime: '2026-01-02T03:10:00Z',
      nextScheduleTime: '2026-01-02T03:11:00Z',
      pausedSince: null,
    })
    const late = await pass({ spec: { delayedStartTolerance: '19s' } })
    expect([late.written, late.outcome.laterMs]).toEqual([[], 40_000])
  })

  it('creates none after the tolerance, and reports it once (C4)', async () => {
    clock('03:10:10')
    const status = { ...TOLD, observedSchedule: '0 * * * *' }
    const hourly = { spec: { schedule: '0 * * * *' }, metadata: { creationTimestamp: '2026-01-02T02:59:00Z' }, status }
    const late = await pass(hourly)
    expect(late.written).toEqual([])
    expect(late.logged).toEqual([expect.stringContaining('"why":"too late"')])
    expect(late.status).toMatchObject({ lastSkippedTime: '2026-01-02T03:00:00Z', lastSkippedReason: 'TooLate' })
    expect(late.events).toMatchObject([{ type: 'Warning', reason: 'DisruptionCronSkipped' }])
    const again = await pass({ ...hourly, status: late.after })
    expect([again.written, again.logged, again.events]).toEqual([[], [], []])
    const patient = {
      ...DEFAULT_CONFIG,
      controller: { ...DEFAULT_CONFIG.controller, defaultCronDelayedStartToleranceMs: 900_000 },
    }
    const tolerated = await pass({ ...hourly, settings: patient })
    expect(tolerated.written).toEqual(MAKES)
  })

  it('records the first time of a missing target, deletes the cron after a day, and clears the time when the target is back (C5)', async () => {
    clock('03:01:02')
    const noted = await pass({ state: { deployment: undefined } })
    expect(noted.written).toEqual([])
    expect(noted.events).toMatchObject([
      { type: 'Normal', message: expect.stringContaining('deployment "shop" did not exist') as string },
    ])
    expect(noted.status).toMatchObject({ targetResourcePreviouslyMissing: '2026-01-02T03:01:02Z' })
    const status = noted.after
    const back = await pass({ status })
    expect(back.status).toEqual({ targetResourcePreviouslyMissing: null })
    expect(back.written).toEqual([])
    vi.setSystemTime(new Date('2026-01-03T03:01:02Z'))
    const patient = await pass({ spec: { paused: true }, status, state: { deployment: undefined } })
    expect([patient.written, patient.outcome.laterMs]).toEqual([[], 1])
    vi.setSystemTime(new Date('2026-01-03T03:01:03Z'))
    const given = await pass({ spec: { paused: true }, status, state: { deployment: undefined } })
    expect(given.written).toEqual(['remove DisruptionCron game'])
    expect(given.events).toMatchObject([{ type: 'Warning', reason: 'DisruptionCronTargetMissing' }])
  })

  it('finds a StatefulSet as the target', async () => {
    clock('03:01:02')
    const { written } = await pass({
      spec: { targetResource: { kind: 'statefulset', name: 'db' } },
      state: { deployment: undefined, statefulSet: SHOP },
    })
    expect(written).toEqual(MAKES)
  })

  it('keeps the last five entries of its history (C6)', async () => {
    clock('03:01:02')
    const history = [1, 2, 3, 4, 5].map((day) => ({
      name: 'disruption-cron-game',
      kind: 'Disruption',
      createdAt: `2025-12-0${day}T00:00:00Z`,
    }))
    const { status } = await pass({ status: { ...TOLD, history }, state: { children: [child('03:01:00')] } })
    const days = (status['history'] as unknown as typeof history).map(({ createdAt }) => createdAt.slice(0, 10))
    expect(days).toEqual(['2025-12-02', '2025-12-03', '2025-12-04', '2025-12-05', '2026-01-02'])
  })

  it('emits one Event for each change of its spec', async () => {
    const changed = await pass({ metadata: { generation: 2 } })
    expect(changed.events).toMatchObject([{ reason: 'DisruptionCronUpdated', occasion: '2' }])
    const again = await pass({ metadata: { generation: 2 }, status: changed.after })
    expect(again.events).toEqual([])
  })

  it('rejects an invalid spec without a webhook', async () => {
    clock('03:01:02')
    const { written, events } = await pass({ spec: { schedule: 'hourly' } })
    expect(written).toEqual([])
    expect(events).toMatchObject([
      { reason: 'InvalidSpec', message: expect.stringContaining('spec.schedule') as string },
    ])
  })

  it('does nothing but emit an Event when operators have disabled crons', async () => {
    clock('03:01:02')
    const off = (more: object) => ({ ...DEFAULT_CONFIG, controller: { ...DEFAULT_CONFIG.controller, ...more } })
    const settings = off({ disruptionCronEnabled: false })
    const there = { children: [child('03:00:00')], deployment: undefined }
    for (const state of [{}, there]) {
      const { written, status, events, outcome } = await pass({ settings, state })
      expect([written, status, outcome.againMs]).toEqual([[], {}, 300_000])
      expect(events).toEqual([
        {
          type: 'Warning',
          reason: 'Disabled',
          message: 'controller.disruptionCronEnabled is false, so no Disruption is created',
        },
      ])
    }
    expect((await pass({ settings: off({ disruptionRolloutEnabled: false }) })).written).toEqual(MAKES)
    const deleted = { deletionTimestamp: '2026-01-02T03:01:01Z' }
    const ending = await pass({ settings, metadata: deleted, state: { children: [child('03:01:00')] } })
    expect(ending.written).toEqual(['remove Disruption disruption-cron-game'])
  })

  it('creates nothing during an emergency stop, and makes up for the time afterwards', async () => {
    clock('03:01:02')
    for (const place of ['home', 'chaosHome'] as const) {
      const stopped = await pass({ state: { [place]: { name: 'a', stop: 'too many alerts' } } })
      expect([stopped.written, stopped.outcome.laterMs]).toEqual([[], 58_000])
      expect(stopped.events).toMatchObject([
        { reason: 'EmergencyStop', message: expect.stringContaining('too many alerts') as string },
      ])
      const lifted = await pass({ status: stopped.after, state: { [place]: { name: 'a' } } })
      expect(lifted.written).toEqual(MAKES)
    }
    const deleteOnly = { ...DEFAULT_CONFIG, controller: { ...DEFAULT_CONFIG.controller, deleteOnly: true } }
    expect((await pass({ settings: deleteOnly })).written).toEqual([])
  })

  it('reports another Disruption that has the name', async () => {
    clock('03:01:02')
    const { next } = await pass()
    const [made] = next.state.children
    const foreign = { ...made!, metadata: { ...made!.metadata, uid: 'uid-other' } }
    // No query for Disruptions of this cron returns it, but it exists.
    const { written, events, status } = await pass({ state: { home: foreign as never } })
    expect([written, status]).toEqual([[], { nextScheduleTime: '2026-01-02T03:02:00Z' }])
    expect(events).toMatchObject([
      { reason: 'NotOwned', message: expect.stringContaining('disruption-cron-game') as string },
    ])
  })
})

describe('a pass over a DisruptionCron that is being deleted', () => {
  const metadata = { deletionTimestamp: '2026-01-02T03:00:31Z' }

  it('deletes its Disruption first, and waits until it is gone', async () => {
    const first = await pass({ metadata, state: { children: [child('03:01:00')] } })
    expect(first.written).toEqual(['remove Disruption disruption-cron-game'])
    expect(reasonsOf(first.events)).toEqual(['DisruptionCronDeleted'])
    expect(manifestOf(first.events)).toMatchObject({ kind: 'DisruptionCron', metadata: { name: 'game' } })
    const going = child('03:01:00', { deletionTimestamp: '2026-01-02T03:00:31Z' })
    const waiting = await pass({ metadata, state: { children: [going] } })
    expect([waiting.written, waiting.ended, waiting.finalizer]).toEqual([[], undefined, undefined])
    expect(waiting.outcome.stopped).toContain('disruption-cron-game')
    const last = await pass({ metadata })
    expect([last.written, last.ended, last.finalizer]).toEqual([[], 'Deleted', 'taken off'])
  })
})
