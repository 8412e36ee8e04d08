import { describe, expect, it } from 'vitest'

import {
  fittingAnnotations,
  LEFT_OUT_ANNOTATION,
  MOST_ANNOTATION_BYTES,
} from '../../../../workflows/kit/run/event-annotations.ts'

describe('annotations of an event', () => {
  it('are those that are given, or none', () => {
    expect(fittingAnnotations({ a: '1', b: '2' })).toEqual({ a: '1', b: '2' })
    expect(fittingAnnotations(undefined)).toBeUndefined()
    expect(fittingAnnotations({})).toBeUndefined()
  })

  it('are left out, each whole, where they do not fit together, and said', () => {
    const half = 'x'.repeat(MOST_ANNOTATION_BYTES / 2 - 1)
    expect(fittingAnnotations({ a: half, b: half })).toEqual({ a: half, b: half })
    expect(fittingAnnotations({ a: half, b: `${half}x`, c: '' })).toEqual({
      a: half,
      c: '',
      [LEFT_OUT_ANNOTATION]: `b (${MOST_ANNOTATION_BYTES / 2} bytes)`,
    })
  })

  it('are counted in bytes', () => {
    const text = 'ä'.repeat(MOST_ANNOTATION_BYTES / 2)
    expect(fittingAnnotations({ a: text })).toEqual({ [LEFT_OUT_ANNOTATION]: `a (${MOST_ANNOTATION_BYTES} bytes)` })
  })

  it('say of many that are left out the first', () => {
    const long = 'x'.repeat(MOST_ANNOTATION_BYTES)
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`example.com/${n}`, long]))
    const { [LEFT_OUT_ANNOTATION]: said = '', ...rest } = fittingAnnotations(many) ?? {}
    expect(rest).toEqual({})
    expect(said).toMatch(/^example\.com\/0 \(16384 bytes\), /)
    expect(said.length).toBeLessThanOrEqual(1024)
  })
})
