import { describe, expect, it } from 'vitest'

import { isLong, sampleOf } from './form.ts'

const CASES = Array.from({ length: 40 }, (_, index) => index)

describe('the sample of a test matrix', () => {
  it('has all cases in the long form, else as many as requested, in their order and without repetition', () => {
    const sample = sampleOf('form-test', CASES, 10)
    expect(sample).toHaveLength(isLong ? 40 : 10)
    expect([...new Set(sample)].sort((a, b) => a - b)).toEqual(sample)
  })

  it('is the same for the same seed and matrix, and different for another matrix', () => {
    expect(sampleOf('form-test', CASES, 10)).toEqual(sampleOf('form-test', CASES, 10))
    if (!isLong) expect(sampleOf('form-test', CASES, 10)).not.toEqual(sampleOf('another-form-test', CASES, 10))
  })

  it('has the cases that are part of each sample in addition', () => {
    const sample = sampleOf('form-test', CASES, 5, (one) => one < 3)
    expect(sample.slice(0, 3)).toEqual([0, 1, 2])
    expect(sample).toHaveLength(isLong ? 40 : 8)
  })
})
