import { describe, expect, it } from 'vitest'

import { disruptionCronAdmission } from '../../../../../workflows/chaos/disruption-cron/admission.ts'
import { cronPolicyProblems } from '../../../../../workflows/chaos/disruption-cron/rules/cron.ts'
import { cronSpec, parentOf, TARGET, TEMPLATE } from '../../parents.ts'

const user = { name: 'x', groups: [] }
const fieldsWrong = (object: object) =>
  [...disruptionCronAdmission.validate({ operation: 'CREATE', object, old: undefined, user })].map(({ field }) => field)

describe('a DisruptionCron', () => {
  it.each<readonly [what: string, object: object]>([
    ['with a template without a selector (A2)', parentOf(cronSpec())],
    ['with a selector, too', parentOf(cronSpec({ disruptionTemplate: { ...TEMPLATE, selector: { app: 'a' } } }))],
    ['paused, with a tolerance', parentOf(cronSpec({ paused: true, delayedStartTolerance: '15m' }))],
    ['for a StatefulSet', parentOf(cronSpec({ targetResource: { kind: 'statefulset', name: 'db' } }))],
    ['whose name is as long as it may be (C7)', parentOf(cronSpec(), { name: 'x'.repeat(47) })],
  ])('is taken %s', (_, object) => {
    expect(fieldsWrong(object)).toEqual([])
  })

  it('is rejected for a name that is too long (C7)', () => {
    expect(fieldsWrong(parentOf(cronSpec(), { name: 'x'.repeat(48) }))).toEqual(['metadata.name'])
  })

  it.each<readonly [field: string, spec: object]>([
    ['spec.schedule', { schedule: 'hourly' }],
    ['spec.delayedStartTolerance', { delayedStartTolerance: '-1s' }],
    ['spec.delayedStartTolerance', { delayedStartTolerance: 'long' }],
    ['spec.targetResource.kind', { targetResource: { ...TARGET, kind: 'daemonset' } }],
    ['spec.targetResource.name', { targetResource: { kind: 'deployment' } }],
    ['spec.reporting.purpose', { reporting: { purpose: 'short' } }],
    ['spec.disruptionTemplate.count', { disruptionTemplate: { ...TEMPLATE, count: 0 } }],
    ['spec.disruptionTemplate', { disruptionTemplate: { count: 1 } }],
  ])('is refused for its %s', (field, spec) => {
    expect(fieldsWrong(parentOf(cronSpec(spec)))).toEqual([field])
  })

  it('is rejected with all problems, also when it is empty', () => {
    expect(fieldsWrong({})).toEqual([
      ...['spec.schedule', 'spec.targetResource.kind', 'spec.targetResource.name'],
      ...['spec.disruptionTemplate.count', 'spec.disruptionTemplate'],
    ])
  })
})

describe("the operators' rules for crons", () => {
  const MINUTE_MS = 60_000
  const safeMode = { environment: '', permittedUserGroups: [] as readonly string[] }
  const asked = (spec: object, { minimum = 15, safe = {}, now = '2026-01-01T00:01:00Z' } = {}) => {
    const controller = {
      defaultDurationMs: 60 * MINUTE_MS,
      minimumCronFrequencyMs: minimum * MINUTE_MS,
      safeMode: { ...safeMode, ...safe },
    }
    const request = { object: parentOf(cronSpec(spec)), groups: ['team-a'], nowMs: Date.parse(now) }
    return cronPolicyProblems({ controller }, request)
  }

  it('require a pause between two Disruptions (C7)', () => {
    expect(asked({ schedule: '*/20 * * * *' })).toEqual([
      {
        field: 'spec.schedule',
        found: '5m0s between the end of a Disruption and the next one',
        expected: 'at least 15m0s, because of controller.minimumCronFrequency',
      },
    ])
    expect(asked({ schedule: '*/30 * * * *' })).toEqual([])
    expect(asked({ schedule: '0 * * * *' })).toEqual([])
  })

  it('use the default duration for a template without one', () => {
    const disruptionTemplate = { ...TEMPLATE, duration: undefined }
    // From 1:00 until 2:00, and then from 3:00: at 2:00 one still exists.
    expect(asked({ disruptionTemplate }, { minimum: 1 })).toEqual([])
    expect(asked({ disruptionTemplate }, { minimum: 60 })).toEqual([])
    expect(asked({ disruptionTemplate }, { minimum: 61 })).toMatchObject([
      {
        found: '1h0m0s between the end of a Disruption and the next one',
        expected: 'at least 1h1m0s, because of controller.minimumCronFrequency',
      },
    ])
    expect(asked({ schedule: '30 * * * *', disruptionTemplate }, { minimum: 60, now: '2026-01-01T00:31:00Z' })).toEqual(
      [],
    )
  })

  it('ignore starts during a Disruption', () => {
    // From 0:10 until 0:25: the next start is at 0:30, not at 0:20.
    expect(asked({ schedule: '*/10 * * * *' }, { minimum: 5 })).toEqual([])
    expect(asked({ schedule: '*/10 * * * *' }, { minimum: 6 })).toMatchObject([
      { found: '5m0s between the end of a Disruption and the next one' },
    ])
  })

  it('check the next scheduled time', () => {
    const uneven = { schedule: '0,20 * * * *' }
    expect(asked(uneven, { now: '2026-01-01T00:30:00Z' })).toHaveLength(1)
    expect(asked(uneven, { now: '2026-01-01T00:10:00Z' })).toEqual([])
  })

  it('restrict the creating users and the environment', () => {
    const fields = asked({}, { safe: { environment: 'staging', permittedUserGroups: ['ops'] } }).map(
      ({ field }) => field,
    )
    expect(fields).toEqual(['', 'metadata.annotations[chaos.datadoghq.com/environment]'])
  })
})
