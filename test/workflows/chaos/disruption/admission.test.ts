import { describe, expect, it } from 'vitest'

import { disruptionAdmission } from '../../../../workflows/chaos/disruption/admission.ts'
import { disrupting, DROP } from './spec-cases.ts'

const user = { name: 'x', groups: [] }
const disruption = (spec: object, metadata: object = {}) => ({
  metadata: { name: 'game', ...metadata },
  spec: disrupting(spec),
})

const onCreate = (object: object) =>
  [...disruptionAdmission.validate({ operation: 'CREATE', object, old: undefined, user })].map(({ field }) => field)
const onUpdate = (old: object, object: object) => [
  ...disruptionAdmission.validate({ operation: 'UPDATE', object, old, user }),
]

describe('a new Disruption', () => {
  it('is held to the rules about specs, and to a name that may be a label', () => {
    expect(onCreate(disruption(DROP))).toEqual([])
    expect(onCreate(disruption({ ...DROP, count: 0 }, { name: 'a.'.repeat(40) }))).toEqual([
      'metadata.name',
      'spec.count',
    ])
  })
})

describe('a Disruption that is there', () => {
  it('stays as it was created with static targeting (A14)', () => {
    const old = disruption({ ...DROP, staticTargeting: true })
    const counted = onUpdate(old, disruption({ ...DROP, staticTargeting: true, count: 2 }))
    expect(counted).toEqual([{ field: 'spec', found: 'another count', expected: 'the spec as it was created' }])
  })

  it('may change its count with dynamic targeting, and nothing else (A14)', () => {
    const old = disruption({ ...DROP, duration: '60s' })
    expect(onUpdate(old, disruption({ ...DROP, duration: '1m0s', count: '50%' }))).toEqual([])
    expect(onUpdate(old, disruption({ network: { drop: 11 }, duration: '60s', dryRun: true }))).toEqual([
      { field: 'spec', found: 'another dryRun, network', expected: 'the spec as it was created, but for count' },
    ])
  })

  it('may not become static, nor dynamic', () => {
    const [dynamic, fixed] = [disruption(DROP), disruption({ ...DROP, staticTargeting: true })]
    expect([...onUpdate(dynamic, fixed), ...onUpdate(fixed, dynamic)]).toHaveLength(2)
  })

  it('is held to the rules about specs as well', () => {
    expect(onUpdate(disruption(DROP), disruption({ ...DROP, count: 0 }))).toMatchObject([{ field: 'spec.count' }])
  })

  it('keeps who made it', () => {
    const by = (name?: string) => disruption(DROP, name === undefined ? {} : { annotations: { UserInfo: name } })
    const fields = [onUpdate(by('a'), by('b')), onUpdate(by('a'), by())].map(([one]) => one?.field)
    expect(fields).toEqual(['metadata.annotations[UserInfo]', 'metadata.annotations[UserInfo]'])
    expect([...onUpdate(by(), by('a')), ...onUpdate(by('a'), by('a'))]).toEqual([])
  })
})
