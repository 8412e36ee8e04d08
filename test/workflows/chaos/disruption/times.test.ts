import { describe, expect, it } from 'vitest'

import { timesOf } from '../../../../workflows/chaos/disruption/times.ts'
import { timestampMs, timestampText } from '../../../../workflows/chaos/timestamp.ts'

const CREATED = '2026-01-02T03:00:00Z'
const at = (seconds: number) => Date.parse(CREATED) + seconds * 1000
const HOUR = 3_600_000
const times = (spec: Parameters<typeof timesOf>[0]['spec']) =>
  timesOf({ spec, metadata: { creationTimestamp: CREATED } }, HOUR)

describe('the times of a Disruption', () => {
  it('begin with its creation, and end after its duration or the default', () => {
    expect(times({})).toEqual({ createPods: at(0), inject: at(0), end: at(3600) })
    expect(times({ duration: '15m' }).end).toBe(at(900))
    expect(times({ duration: 90_000_000_000 }).end).toBe(at(90))
    expect(times({ duration: '' }).end).toBe(at(3600))
  })

  it('are delayed by triggers, and never precede its creation', () => {
    const offset = times({ duration: '1m', triggers: { createPods: { offset: '30s' }, inject: { offset: '10s' } } })
    expect(offset).toEqual({ createPods: at(30), inject: at(40), end: at(100) })
    const late = '2026-01-02T03:01:00Z'
    expect(times({ duration: '1m', triggers: { inject: { notBefore: late } } })).toEqual({
      createPods: at(0),
      inject: at(60),
      end: at(120),
    })
    expect(times({ duration: '1m', triggers: { createPods: { notBefore: late } } })).toEqual({
      createPods: at(60),
      inject: at(60),
      end: at(120),
    })
    const past = '2020-01-01T00:00:00Z'
    expect(times({ duration: '1m', triggers: { createPods: { notBefore: past } } }).createPods).toBe(at(0))
  })

  it('are parsed and formatted as Kubernetes timestamps', () => {
    expect(timestampText(at(0) + 500)).toBe(CREATED)
    expect(timestampMs(CREATED)).toBe(at(0))
    expect(timestampMs(undefined)).toBeUndefined()
    expect(timestampMs('soon')).toBeUndefined()
  })
})
