import { describe, expect, it } from 'vitest'

import { disruptionRolloutAdmission } from '../../../../workflows/chaos/disruption-rollout/admission.ts'
import { parentOf, rolloutSpec, TARGET, TEMPLATE } from '../parents.ts'

const user = { name: 'x', groups: [] }
const fieldsWrong = (object: object) =>
  [...disruptionRolloutAdmission.validate({ operation: 'CREATE', object, old: undefined, user })].map(
    ({ field }) => field,
  )

describe('a DisruptionRollout', () => {
  it('is accepted with a template without a selector', () => {
    expect(fieldsWrong(parentOf(rolloutSpec(), { name: 'x'.repeat(44) }))).toEqual([])
    expect(fieldsWrong(parentOf(rolloutSpec({ delayedStartTolerance: 0 })))).toEqual([])
  })

  it('is rejected for a name that is too long', () => {
    expect(fieldsWrong(parentOf(rolloutSpec(), { name: 'x'.repeat(45) }))).toEqual(['metadata.name'])
  })

  it.each<readonly [field: string, spec: object]>([
    ['spec.delayedStartTolerance', { delayedStartTolerance: -1 }],
    ['spec.targetResource.kind', { targetResource: { ...TARGET, kind: 'Deployment' } }],
    ['spec.disruptionTemplate.network', { disruptionTemplate: { ...TEMPLATE, network: {} } }],
  ])('is refused for its %s', (field, spec) => {
    expect(fieldsWrong(parentOf(rolloutSpec(spec)))).toEqual([field])
  })
})
