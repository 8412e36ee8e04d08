import { describe, expect, it } from 'vitest'

import { changedFields, specHash } from '../../../../workflows/chaos/disruption/spec-hash.ts'
import { specWith, DROP } from './spec-cases.ts'

const spec = { ...DROP, count: 2, duration: '90m', memoryPressure: { targetPercent: '5', rampDuration: '60s' } }
const full = specWith({ ...spec, pulse: { activeDuration: '1m', dormantDuration: '1s' } })

describe('the hash of a spec', () => {
  it('ignores the order of keys', () => {
    expect(specHash(Object.fromEntries(Object.entries(full).reverse()))).toBe(specHash(full))
  })

  it.each([
    { duration: '1h30m0s' },
    { duration: 5_400_000_000_000 },
    { memoryPressure: { rampDuration: '1m', targetPercent: '5' } },
    { pulse: { activeDuration: '60s', dormantDuration: '1000ms' } },
    { reporting: undefined },
  ])('is the same for the same in other words: %j', (words) => {
    expect(specHash({ ...full, ...words })).toBe(specHash(full))
    expect(changedFields(full, { ...full, ...words })).toEqual([])
  })

  it.each<readonly [string, object]>([
    ['duration', { duration: '91m' }],
    ['network', { network: { drop: 11 } }],
    ['selector', { selector: { app: 'other' } }],
    ['dryRun', { dryRun: false }],
    ['pulse', { pulse: undefined }],
    ['triggers', { triggers: { inject: { offset: '1s' } } }],
  ])('is another one for another %s', (field, change) => {
    expect(specHash({ ...full, ...change })).not.toBe(specHash(full))
    expect(changedFields(full, { ...full, ...change })).toEqual([field])
  })

  it('differs for another count with static targeting only', () => {
    const drawnOnce = { ...full, staticTargeting: true }
    expect(changedFields(full, drawnOnce)).toEqual(['staticTargeting'])
    expect(changedFields(full, { ...drawnOnce, count: 3 })).toEqual(['staticTargeting'])
    expect(changedFields(drawnOnce, { ...full, count: 3 })).toEqual(['count', 'staticTargeting'])
  })

  it('excludes the count with dynamic targeting, and includes it with static targeting', () => {
    const hashes = [{}, { staticTargeting: false }, { staticTargeting: true }].map((targeting) =>
      [1, '50%'].map((count) => specHash({ ...full, ...targeting, count })),
    )
    expect(hashes.map(([one, other]) => one === other)).toEqual([true, true, false])
  })
})
