// The effect of Warnings on the trouble of a pod. Source: spec/chaos.md 1.10, "Kubernetes events".

import { describe, expect, it } from 'vitest'

import { type PodWarning, warningView, withWarnings } from '../../../../workflows/chaos/disruption/trouble.ts'
import type { Event } from '../../../../workflows/kit/kind/kubernetes/v1.ts'

const MINUTE = 60_000
const CREATED = '2026-01-01T10:00:00Z'
const created = Date.parse(CREATED)
const when = { now: created + 10 * MINUTE, since: created }
const warning = (is: Partial<PodWarning> = {}): PodWarning => ({
  uid: 'uid-a',
  about: 'other',
  reason: 'BackOff',
  lastMs: when.now,
  ...is,
})
const event = (fields: object): Event =>
  ({ metadata: { creationTimestamp: CREATED }, involvedObject: { uid: 'uid-a' }, ...fields }) as Event

describe('a Warning about a pod', () => {
  it.each([
    ['Unhealthy', 'Liveness probe failed: connection refused', 'liveness'],
    ['ProbeWarning', 'Readiness probe warning: redirected', 'readiness'],
    ['Unhealthy', 'Startup probe failed: timeout', 'other'],
    ['BackOff', 'Back-off restarting failed container after its liveness probe failed', 'other'],
  ])('%s "%s" is about: %s', (reason, message, about) => {
    expect(warningView(event({ reason, message }))).toEqual({ uid: 'uid-a', about, reason, lastMs: created })
  })

  it.each([
    ['its series', { series: { lastObservedTime: '2026-01-01T10:03:00.123456Z' }, eventTime: CREATED }, 3],
    ['its last time', { lastTimestamp: '2026-01-01T10:02:00Z', firstTimestamp: CREATED }, 2],
    ['the time of a single one', { eventTime: '2026-01-01T10:01:00.000000Z', lastTimestamp: null }, 1],
  ])('was reported last at %s', (_, fields, minutes) => {
    expect(Math.floor((warningView(event(fields)).lastMs - created) / MINUTE)).toBe(minutes)
  })
})

describe('the trouble with Warnings', () => {
  it('contains the reasons of current Warnings', () => {
    const warnings = [
      warning({ about: 'liveness', reason: 'Unhealthy', lastMs: when.now - MINUTE }),
      warning({ about: 'readiness', reason: 'Unhealthy' }),
      warning({ reason: 'FailedMount' }),
      warning(),
      warning(),
    ]
    expect(
      withWarnings({ restarts: { app: 1 }, warnings: { TargetPodInWarningState: 'phase Failed' } }, warnings, when),
    ).toEqual({
      trouble: {
        restarts: { app: 1 },
        warnings: {
          TargetPodInWarningState: 'phase Failed, BackOff, FailedMount',
          TargetPodLivenessProbe: 'the liveness probe fails',
        },
        isUnready: true,
        unreadyBy: 'the readiness probe fails',
      },
      holdsMs: 5 * MINUTE,
    })
  })

  it.each([
    [
      'was reported before the Disruption was there',
      { lastMs: created - 1 },
      { now: created + MINUTE, since: created },
      {},
    ],
    ['was not reported again for six minutes', { lastMs: when.now - 6 * MINUTE }, when, {}],
    [
      'was reported before a container was started again',
      { lastMs: when.now - 1 },
      when,
      { restartedMs: when.now - 1 },
    ],
  ])('W1: has nothing of what %s', (_, is, at, trouble) => {
    expect(withWarnings(trouble, [warning(is)], at)).toEqual({ trouble, holdsMs: undefined })
  })

  it('W1: ignores Warnings dated far in the past or future', () => {
    const warnings = [warning({ about: 'liveness', lastMs: when.now + 6 * MINUTE })]
    expect(withWarnings(undefined, warnings, when)).toEqual({ trouble: undefined, holdsMs: undefined })
    const ahead = [warning({ about: 'liveness', lastMs: when.now + MINUTE })]
    expect(withWarnings(undefined, ahead, when)).toMatchObject({ holdsMs: 7 * MINUTE })
  })

  it('W1: contains Warnings from after the last start of a container', () => {
    const { trouble } = withWarnings({ restartedMs: when.now - 1 }, [warning()], when)
    expect(trouble?.warnings).toEqual({ TargetPodInWarningState: 'BackOff' })
  })
})
