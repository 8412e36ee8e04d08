import { describe, expect, it } from 'vitest'

import { datadogEvent, type Occurrence } from '../../../workflows/chaos/notification.ts'

const told = (more: Partial<Occurrence>): Occurrence => ({
  kind: 'Disruption',
  namespace: 'shop',
  name: 'slow',
  uid: 'u',
  type: 'Normal',
  reason: 'Injected',
  message: 'all of it',
  atMs: 0,
  object: undefined,
  ...more,
})

describe('the Datadog event of an Event', () => {
  it('has title, text and tags, including the tags from the selector', () => {
    const selector = { team: 'a-team', app: 'web', tier: 'front' }
    expect(datadogEvent(told({ object: { spec: { selector } } }))).toEqual({
      title: "Disruption 'slow' received a notification.",
      text: "Disruption 'slow' emitted the event Injected: all of it",
      alertType: 'info',
      tags: { team: 'a-team', app: 'web', disruption_name: 'slow' },
    })
    expect(datadogEvent(told({ kind: 'DisruptionCron', name: 'daily' })).tags).toEqual({ disruptioncron_name: 'daily' })
  })

  it.each([
    ['warning', { type: 'Warning', reason: 'CreateFailed' }],
    ['success', { reason: 'RecoveredWarningStateInTargetPod' }],
    ['info', { reason: 'Finished' }],
    ['info', { reason: 'Created' }],
  ] as const)('is of type %s: %j', (alertType, more) => {
    expect(datadogEvent(told(more)).alertType).toBe(alertType)
  })

  it('fits into a datagram', () => {
    const { title, text } = datadogEvent(told({ name: 'n'.repeat(300), message: 'm'.repeat(10_000) }))
    expect([title.length, text.length]).toEqual([100, 4000])
  })
})
