import { describe, expect, it } from 'vitest'

import { explainCron } from '../../../../workflows/chaos/disruption-cron/explain.ts'
import { EMERGENCY_STOP_ANNOTATION } from '../../../../workflows/chaos/contract.ts'
import { cronSpec, parentOf } from '../parents.ts'

const AT_9 = '2026-01-02T09:00:00Z'
const AT_10 = '2026-01-02T10:00:00Z'
const NEXT = { nextScheduleTime: '2026-01-02T11:00:00Z' }
const skipped = (lastSkippedReason: string) => ({ ...NEXT, lastSkippedTime: AT_10, lastSkippedReason })

describe('the explanation of a DisruptionCron', () => {
  it.each([
    [
      'the next and the last run',
      { ...NEXT, lastScheduleTime: AT_10 },
      `next run at 2026-01-02T11:00:00Z; last run at ${AT_10}`,
    ],
    [
      'the previous Disruption that caused a skip',
      { ...skipped('StillThere'), lastScheduleTime: AT_9 },
      `next run at 2026-01-02T11:00:00Z; the run at ${AT_10} was skipped: the previous Disruption "disruption-cron-game" still existed; delete it, or set controller.expiredDisruptionGCDelay in the chaos configuration (StillThere)`,
    ],
    [
      'the missing target that caused a skip',
      skipped('TargetMissing'),
      `next run at 2026-01-02T11:00:00Z; the run at ${AT_10} was skipped: deployment "shop" did not exist; create it, or correct spec.targetResource (TargetMissing)`,
    ],
    [
      'the tolerance that caused a skip',
      skipped('TooLate'),
      `next run at 2026-01-02T11:00:00Z; the run at ${AT_10} was skipped: it would have started later than spec.delayedStartTolerance allows; increase the tolerance to make up for such runs (TooLate)`,
    ],
    [
      'the last run, not an earlier skip',
      { ...NEXT, lastSkippedTime: AT_9, lastSkippedReason: 'StillThere', lastScheduleTime: AT_10 },
      `next run at 2026-01-02T11:00:00Z; last run at ${AT_10}`,
    ],
    ['the pause', { pausedSince: AT_9 }, `paused since ${AT_9}; to continue, remove spec.paused`],
  ])('has %s', (_what, status, summary) => {
    expect(explainCron({ ...parentOf(cronSpec()), status })).toEqual({ summary })
  })

  it.each([
    ['its namespace', 'shop', 'oncall: load test', ' (oncall: load test)', 'chaos resume -n shop'],
    ['the whole cluster', 'chaos-engineering', 'true', '', 'chaos resume --all'],
  ])('has first the emergency stop of %s, and the command that lifts it', (...[, name, stop, why, command]) => {
    const annotations = { [EMERGENCY_STOP_ANNOTATION]: stop }
    const namespaces = [{ metadata: { name: 'calm' } }, { metadata: { name, annotations } }]
    const cron = { metadata: { namespace: 'shop' }, status: NEXT }
    expect(explainCron(cron, namespaces)).toEqual({
      summary: `the emergency stop of namespace "${name}"${why} holds it, so no Disruption is created until pawl ${command}; next run at 2026-01-02T11:00:00Z`,
      command,
    })
    expect(explainCron(cron, namespaces.slice(0, 1)).command).toBeUndefined()
  })

  it('is empty before the first pass', () => {
    expect(explainCron(parentOf(cronSpec()))).toEqual({})
  })
})
