// Tests the passes over a CronJob without a server: the tests set the time, and pawl/kit/testing runs the passes (cron-job-pass.ts).

import { again, fail, setCondition } from 'pawl/kit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { jobFor } from '../../../examples/cronjob/job.ts'
import { cronJob, ended, job, passOver } from './cron-job-pass.ts'

const MINUTE_MS = 60_000
const AT_ELEVEN = `report-${Date.parse('2026-03-01T11:00:00Z') / MINUTE_MS}`

beforeEach(() => vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => vi.useRealTimers())

describe('a CronJob before its next start', () => {
  beforeEach(() => vi.setSystemTime('2026-03-01T10:45:00Z'))

  it('starts no Job and schedules a pass for the next start', async () => {
    const { outcome, written, status } = await passOver(cronJob())
    expect(outcome).toEqual(again(15 * MINUTE_MS))
    expect(written).toEqual([])
    expect(status).toMatchObject({ active: [], conditions: [{ status: 'True', reason: 'Waiting' }] })
  })
})

describe('a CronJob at a time of its schedule', () => {
  beforeEach(() => vi.setSystemTime('2026-03-01T11:00:01.250Z'))

  it('starts a Job named after the minute of the start, and schedules a pass for the next start', async () => {
    const { outcome, written, status } = await passOver(cronJob())
    expect(written).toEqual([`apply Job ${AT_ELEVEN}`])
    expect(outcome).toEqual(again(60 * MINUTE_MS - 1250))
    expect(status).toMatchObject({ lastScheduleTime: '2026-03-01T11:00:00Z', active: [{ name: AT_ELEVEN }] })
  })

  it('creates the Job from the template and adds the label cronjob', () => {
    const spec = { template: { spec: { containers: [] } } }
    const metadata = { labels: { team: 'a', cronjob: 'other' } }
    expect(jobFor(cronJob({ jobTemplate: { metadata, spec } }), new Date('2026-03-01T11:00:00Z'))).toEqual({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: {
        name: AT_ELEVEN,
        labels: { team: 'a', cronjob: 'report' },
        annotations: { 'batch.kubernetes.io/cronjob-scheduled-timestamp': '2026-03-01T11:00:00Z' },
      },
      spec,
    })
  })

  it('starts no second Job for the time in status.lastScheduleTime', async () => {
    expect((await passOver(cronJob({}, { lastScheduleTime: '2026-03-01T11:00:00Z' }))).written).toEqual([])
  })

  it('finds the Job of a pass that was interrupted before its status update', async () => {
    const { written, status } = await passOver(cronJob({ concurrencyPolicy: 'Replace' }), [job(AT_ELEVEN)])
    expect(written).toEqual([])
    expect(status['lastScheduleTime']).toBe('2026-03-01T11:00:00Z')
  })

  it('uses the time zone of its spec', async () => {
    const spec = { schedule: '30 16 * * *', timeZone: 'Asia/Kolkata' }
    expect((await passOver(cronJob(spec))).status['lastScheduleTime']).toBe('2026-03-01T11:00:00Z')
  })
})

describe('a CronJob whose last Job is still active', () => {
  const active = job('report-1')
  beforeEach(() => vi.setSystemTime('2026-03-01T11:00:01Z'))

  it.each([undefined, 'Allow'] as const)('starts another Job with the policy %s', async (concurrencyPolicy) => {
    const spec = concurrencyPolicy === undefined ? {} : { concurrencyPolicy }
    const { written, status } = await passOver(cronJob(spec), [active])
    expect(written).toEqual([`apply Job ${AT_ELEVEN}`])
    expect(status['active']).toMatchObject([{ name: 'report-1' }, { name: AT_ELEVEN }])
  })

  it('deletes the active Job first when the policy is Replace', async () => {
    const { written, status } = await passOver(cronJob({ concurrencyPolicy: 'Replace' }), [active])
    expect(written).toEqual(['remove Job report-1', `apply Job ${AT_ELEVEN}`])
    expect(status['active']).toMatchObject([{ name: AT_ELEVEN }])
  })

  it('waits for the active Job and reports JobAlreadyActive when the policy is Forbid', async () => {
    const { written, status } = await passOver(cronJob({ concurrencyPolicy: 'Forbid' }), [active])
    expect(written).toEqual([])
    expect(status).not.toHaveProperty('lastScheduleTime')
    expect(status['conditions']).toMatchObject([
      {
        status: 'False',
        reason: 'JobAlreadyActive',
        message: 'the start of 2026-03-01T11:00:00Z waits for the active Job report-1',
      },
    ])
    const over = ended('Complete', 'report-1', '2026-03-01T11:00:01Z')
    expect((await passOver(cronJob({ concurrencyPolicy: 'Forbid' }), [over])).written).toEqual([
      `apply Job ${AT_ELEVEN}`,
    ])
  })
})

describe('a CronJob that has missed starts', () => {
  it('starts a Job only for the last missed start', async () => {
    vi.setSystemTime('2026-03-01T14:10:00Z')
    const { written, status } = await passOver(cronJob())
    expect(written).toHaveLength(1)
    expect(status['lastScheduleTime']).toBe('2026-03-01T14:00:00Z')
    expect(status['conditions']).toMatchObject([{ reason: 'Waiting' }])
  })

  it('starts no Job after startingDeadlineSeconds, and reports MissedStart', async () => {
    vi.setSystemTime('2026-03-01T14:10:00Z')
    const { written, outcome, status } = await passOver(cronJob({ startingDeadlineSeconds: 300 }))
    expect([written, outcome]).toEqual([[], again(50 * MINUTE_MS)])
    expect(status['conditions']).toMatchObject([{ reason: 'MissedStart' }])
  })

  it('reports TooManyMissedStarts after more than 100 missed starts, until the next start', async () => {
    vi.setSystemTime('2026-03-11T10:10:00Z')
    const { written, status } = await passOver(cronJob())
    expect(written).toHaveLength(1)
    expect(status['conditions']).toMatchObject([{ reason: 'TooManyMissedStarts' }])

    const lastScheduleTime = '2026-03-11T10:00:00Z'
    const warned = cronJob({}, { lastScheduleTime, conditions: status['conditions'] as [] })
    expect((await passOver(warned)).status).not.toHaveProperty('conditions')
    vi.setSystemTime('2026-03-11T11:00:00Z')
    expect((await passOver(warned)).status['conditions']).toMatchObject([{ reason: 'Waiting' }])
  })
})

describe('the field spec.suspend of a CronJob', () => {
  beforeEach(() => vi.setSystemTime('2026-03-01T11:00:01Z'))

  it('prevents new Jobs, sets the reason Suspended, and lets the pass remove old Jobs', async () => {
    const over = ended('Complete', 'report-1', '2026-03-01T10:30:00Z')
    const { written, outcome, status } = await passOver(cronJob({ suspend: true, successfulJobsHistoryLimit: 0 }), [
      over,
    ])
    expect(written).toEqual(['remove Job report-1'])
    expect(outcome.againMs).toBeUndefined()
    expect(status).toMatchObject({
      lastSuccessfulTime: '2026-03-01T10:30:00Z',
      conditions: [{ status: 'False', reason: 'Suspended' }],
    })
  })

  it('does not change the condition again in later passes', async () => {
    const said = {
      status: 'False',
      reason: 'Suspended',
      message: 'no Job is started while spec.suspend is true',
    } as const
    const conditions = setCondition([], { type: 'Scheduled', ...said }, '2026-03-01T10:30:00Z')
    expect((await passOver(cronJob({ suspend: true }, { conditions }))).status).toEqual({ active: [] })
  })
})

describe('a CronJob that is being deleted', () => {
  it('starts no Job', async () => {
    vi.setSystemTime('2026-03-01T11:00:01Z')
    const { metadata, ...rest } = cronJob()
    const going = { ...rest, metadata: { ...metadata, deletionTimestamp: '2026-03-01T10:59:00Z' } }
    expect((await passOver(going)).written).toEqual([])
  })
})

describe('a CronJob with an invalid spec', () => {
  it.each([
    [
      { schedule: 'hourly' },
      'InvalidSchedule',
      "spec.schedule: found 'hourly'; expected five fields as in crontab, such as */5 * * * *, or a descriptor such as @hourly",
    ],
    [{ timeZone: 'Mars' }, 'UnknownTimeZone', "spec.timeZone: found 'Mars'; expected a name such as Europe/Berlin"],
  ])('fails and reports the invalid field in its condition: %j', async (spec, code, message) => {
    const { outcome, written, status } = await passOver(cronJob(spec), [job('report-1')])
    expect([outcome, written]).toEqual([fail(code, message), []])
    expect(status).toMatchObject({
      active: [{ name: 'report-1' }],
      conditions: [{ status: 'False', reason: code, message }],
    })
  })
})

describe('the history of a CronJob', () => {
  beforeEach(() => vi.setSystemTime('2026-03-01T10:45:00Z'))
  const jobs = [
    ...[3, 1, 5, 2, 4].map((minute) => ended('Complete', `good-${minute}`, `2026-03-01T10:0${minute}:00Z`)),
    ...[6, 8, 7].map((minute) => ended('Failed', `bad-${minute}`, `2026-03-01T10:0${minute}:00Z`)),
    job('active'),
  ]

  it('contains the last three successful Jobs and the last failed Job', async () => {
    const { written, status } = await passOver(cronJob(), jobs)
    expect(written).toEqual(['remove Job good-2', 'remove Job good-1', 'remove Job bad-7', 'remove Job bad-6'])
    expect(status['lastSuccessfulTime']).toBe('2026-03-01T10:05:00Z')
  })

  it('keeps status.lastSuccessfulTime after the Job is gone', async () => {
    const lastSuccessfulTime = '2026-03-01T10:30:00Z'
    const { next } = await passOver(cronJob({}, { lastSuccessfulTime }), jobs)
    expect(next.target.status?.lastSuccessfulTime).toBe(lastSuccessfulTime)
  })

  it('deletes no Job that is already being deleted', async () => {
    const { metadata, ...rest } = ended('Failed', 'bad-1', '2026-03-01T10:01:00Z')
    const going = { ...rest, metadata: { ...metadata, deletionTimestamp: '2026-03-01T10:44:00Z' } }
    expect((await passOver(cronJob({ failedJobsHistoryLimit: 0 }), [going])).written).toEqual([])
  })

  it('has the length of the history limits in the spec', async () => {
    const limits = { successfulJobsHistoryLimit: 4, failedJobsHistoryLimit: 0 }
    const { written } = await passOver(cronJob(limits), jobs)
    expect(written).toEqual(['remove Job good-1', 'remove Job bad-8', 'remove Job bad-7', 'remove Job bad-6'])
  })
})
