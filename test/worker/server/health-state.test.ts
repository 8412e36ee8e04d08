// The health of the engine from heartbeats, and its reports. Source: spec/landscaper.md 5.8.

import { describe, expect, it } from 'vitest'
import type { HeartbeatRecord } from '../../../activities/journal/write/heartbeats.ts'
import { describeHealth, type ReportedHealth, stateToReport, problemsIn } from '../../../worker/server/health-state.ts'

const AT = new Date('2030-01-01T00:10:00Z')
const EVERY_MS = 60_000
const ago = (ms: number) => new Date(AT.getTime() - ms)

function heard(role: HeartbeatRecord['role'], place: string, more: Partial<HeartbeatRecord> = {}): HeartbeatRecord {
  const serves = ['installation', 'execution']
  const times = { everyMs: 10_000, startedAt: ago(500_000), at: AT, silentMs: 5000 }
  return { cluster: 'c', owner: `${role} ${place}`, role, place, serves, wrong: [], ...times, ...more }
}
const silent = (ms: number) => ({ silentMs: ms, at: ago(ms) })
const WELL = [heard('bridge', 'b'), heard('worker', 'w')]

describe('the engine', () => {
  it.each([
    ['with a bridge and a worker is well', WELL, []],
    ['without either is not', [], ['no bridge is running', 'no worker is running']],
    [
      'with workers that leave a controller to nobody is not',
      [heard('bridge', 'b'), heard('worker', 'w', { serves: ['installation'] })],
      ['no worker runs execution'],
    ],
    [
      'with workers that share the controllers is well',
      [
        heard('bridge', 'b'),
        heard('worker', 'w', { serves: ['installation'] }),
        heard('worker', 'x', { serves: ['execution'] }),
      ],
      [],
    ],
    [
      'whose bridge follows objects of a controller that no worker runs is not',
      [heard('bridge', 'b', { serves: ['installation', 'sync'] }), heard('worker', 'w'), heard('worker', 'x')],
      ['no worker runs sync'],
    ],
    [
      'with workers that could do more than any bridge follows objects for is well',
      [...WELL, heard('worker', 'x', { serves: ['sync'] })],
      [],
    ],
    [
      'with a worker that does not reach Temporal is not',
      [...WELL, heard('worker', 'x', { wrong: ['journal', 'temporal'] })],
      ['worker x is not ready: journal, temporal'],
    ],
    ['with a beat that is late is well still', [heard('bridge', 'b', silent(29_000)), heard('worker', 'w')], []],
    [
      'whose only bridge fell silent is not',
      [heard('bridge', 'b', silent(31_000)), heard('worker', 'w')],
      ['no bridge is running', 'bridge b is silent since 2030-01-01T00:09:29.000Z'],
    ],
    [
      'with one worker of two that fell silent is not',
      [...WELL, heard('worker', 'x', silent(60_000))],
      ['worker x is silent since 2030-01-01T00:09:00.000Z'],
    ],
    [
      'with one that was replaced is well',
      [...WELL, heard('worker', 'x', silent(60_000)), heard('worker', 'y', { startedAt: ago(20_000) })],
      [],
    ],
  ])('%s', (_, all, wrong) => {
    expect(problemsIn(all)).toEqual(wrong)
  })

  it('has a bounded description', () => {
    expect(describeHealth('Ok', [])).toBe('bridge, worker, journal and Temporal are healthy')
    expect(describeHealth('Failed', ['a', 'b'])).toBe('a; b')
    const many = Array.from({ length: 100 }, (_, index) => `${index}`)
    expect(describeHealth('Failed', many)).toMatch(/; 19; and 80 more$/)
  })
})

describe('the health report', () => {
  const tell = (isWell: boolean, badLooks: number, told?: ReportedHealth) =>
    stateToReport({ isHealthy: isWell, failedChecks: badLooks, now: AT, everyMs: EVERY_MS }, told)
  const told = (state: 'Ok' | 'Failed' | 'Init', ageMs: number) => ({ state, at: ago(ageMs) })

  it('is written if it is missing, has changed, or is due', () => {
    expect(tell(true, 0)).toBe('Ok')
    expect(tell(true, 0, told('Failed', 1000))).toBe('Ok')
    expect(tell(true, 0, told('Ok', 59_999))).toBeUndefined()
    expect(tell(true, 0, told('Ok', 60_000))).toBe('Ok')
    // A report of a writer whose clock is ahead.
    expect(tell(true, 0, told('Ok', -60_001))).toBe('Ok')
    expect(tell(false, 5, told('Failed', 59_999))).toBeUndefined()
  })

  it('is Failed only after the second unhealthy check', () => {
    expect(tell(false, 1, told('Ok', 1000))).toBeUndefined()
    expect(tell(false, 1, told('Ok', 60_000))).toBe('Ok')
    expect(tell(false, 2, told('Ok', 1000))).toBe('Failed')
  })

  it('is Init without a recent report', () => {
    expect(tell(false, 1)).toBe('Init')
    expect(tell(false, 1, told('Ok', 120_001))).toBe('Init')
    expect(tell(false, 1, told('Init', 1000))).toBeUndefined()
  })
})
