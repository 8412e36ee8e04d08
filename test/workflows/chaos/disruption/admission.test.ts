import { describe, expect, it } from 'vitest'

import { disruptionAdmission } from '../../../../workflows/chaos/disruption/admission.ts'
import { disruptionCronAdmission } from '../../../../workflows/chaos/disruption-cron/admission.ts'
import { disruptionRolloutAdmission } from '../../../../workflows/chaos/disruption-rollout/admission.ts'
import { durationChange } from '../../../../workflows/chaos/disruption/rules/timing.ts'
import type { Admission } from '../../../../workflows/kit/index.ts'
import { specWith, DROP } from './spec-cases.ts'

const user = { name: 'x', groups: [] }
const disruption = (spec: object, metadata: object = {}) => ({
  metadata: { name: 'game', ...metadata },
  spec: specWith(spec),
})

const onCreate = (object: object) =>
  [...disruptionAdmission.validate({ operation: 'CREATE', object, old: undefined, user })].map(({ field }) => field)
const onUpdate = (old: object, object: object) => [
  ...disruptionAdmission.validate({ operation: 'UPDATE', object, old, user }),
]

describe('a new Disruption', () => {
  it('must meet the rules about specs, and its name must be a label value', () => {
    expect(onCreate(disruption(DROP))).toEqual([])
    expect(onCreate(disruption({ ...DROP, count: 0 }, { name: 'a.'.repeat(40) }))).toEqual([
      'metadata.name',
      'spec.count',
    ])
  })
})

describe('an existing Disruption', () => {
  it('must not change with static targeting (A14)', () => {
    const old = disruption({ ...DROP, staticTargeting: true })
    const counted = onUpdate(old, disruption({ ...DROP, staticTargeting: true, count: 2 }))
    expect(counted).toEqual([{ field: 'spec', found: 'changed count', expected: 'the spec of the creation' }])
  })

  it('may change only its count with dynamic targeting (A14)', () => {
    const old = disruption({ ...DROP, duration: '60s' })
    expect(onUpdate(old, disruption({ ...DROP, duration: '1m0s', count: '50%' }))).toEqual([])
    expect(onUpdate(old, disruption({ network: { drop: 11 }, duration: '60s', dryRun: true }))).toEqual([
      { field: 'spec', found: 'changed dryRun, network', expected: 'the spec of the creation, except for count' },
    ])
  })

  it('must not switch between static and dynamic targeting', () => {
    const [dynamic, fixed] = [disruption(DROP), disruption({ ...DROP, staticTargeting: true })]
    expect([...onUpdate(dynamic, fixed), ...onUpdate(fixed, dynamic)]).toHaveLength(2)
  })

  it('must meet the rules about specs after an update', () => {
    expect(onUpdate(disruption(DROP), disruption({ ...DROP, count: 0 }))).toMatchObject([{ field: 'spec.count' }])
  })

  it('keeps the recorded creator', () => {
    const by = (name?: string) => disruption(DROP, name === undefined ? {} : { annotations: { UserInfo: name } })
    const changed = (old: object, object: object) => [
      ...(disruptionAdmission.metadata?.validate({ operation: 'UPDATE', object, old, user }) ?? []),
    ]
    const fields = [changed(by('a'), by('b')), changed(by('a'), by())].map(([one]) => one?.field)
    expect(fields).toEqual(['metadata.annotations[UserInfo]', 'metadata.annotations[UserInfo]'])
    expect([...changed(by(), by('a')), ...changed(by('a'), by('a'))]).toEqual([])
  })
})

describe('a count of 100', () => {
  const warned = (count: unknown) => [
    ...(disruptionAdmission.warnings?.({
      operation: 'CREATE',
      object: disruption({ ...DROP, count }),
      old: undefined,
      user,
    }) ?? []),
  ]

  it('causes a warning that it is not a percentage', () => {
    expect(warned(100)).toEqual(['spec.count: found 100, which means 100 targets; write "100%" for all targets'])
    expect([...warned('100%'), ...warned(10)]).toEqual([])
  })
})

describe('a network disruption with HTTP filters', () => {
  const warned = (admission: Admission, object: object) => [
    ...(admission.warnings?.({ operation: 'CREATE', object, old: undefined, user }) ?? []),
  ]
  const of = (http: object) => ({ network: { drop: 10, http } })

  it.each([[{ methods: ['GET'] }], [{ paths: ['/'] }], [{ methods: ['GET'], paths: ['/a'] }]])(
    'is accepted with a warning, because no injector supports it: %j',
    (http) => {
      expect(onCreate(disruption(of(http)))).toEqual([])
      const what = 'Pawl cannot select requests by HTTP method or path, so the network disruption is never injected'
      expect(warned(disruptionAdmission, disruption(of(http)))).toEqual([`spec.network.http: ${what}`])
      for (const admission of [disruptionCronAdmission, disruptionRolloutAdmission])
        expect(warned(admission, { spec: { disruptionTemplate: of(http) } })).toEqual([
          `spec.disruptionTemplate.network.http: ${what}`,
        ])
    },
  )

  it('causes no warning without methods and paths', () => {
    for (const spec of [of({}), of({ methods: [], paths: [] }), DROP, {}])
      expect([
        ...warned(disruptionAdmission, { spec }),
        ...warned(disruptionCronAdmission, { spec: { disruptionTemplate: spec } }),
      ]).toEqual([])
    expect(warned(disruptionRolloutAdmission, {})).toEqual([])
  })
})

describe('a Disruption without a duration', () => {
  const HOUR_MS = 3_600_000
  const of = (duration?: unknown) => disruption({ ...DROP, ...(duration !== undefined && { duration }) })
  const defaulted = (object: object, old?: object) =>
    durationChange({ object, old }, HOUR_MS).map(({ path, value }) => `${path.join('.')}=${String(value)}`)

  it.each<[string, unknown, string[]]>([
    ['none', undefined, ['spec.duration=1h0m0s']],
    ['an empty one', '', ['spec.duration=1h0m0s']],
    ['one', '5m', []],
    ['a number', 60_000_000_000, []],
  ])('has the usual one where it is created with %s', (_, duration, expected) => {
    expect(defaulted(of(duration))).toEqual(expected)
  })

  it('keeps its recorded duration when the default changes', () => {
    expect(defaulted(of(), of('5m'))).toEqual(['spec.duration=5m'])
    expect(defaulted(of(), of())).toEqual([])
    expect(defaulted(of('7m'), of('5m'))).toEqual([])
  })
})
