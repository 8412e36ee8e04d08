import { describe, expect, it } from 'vitest'
import {
  fitting,
  fitAnnotations,
  LEFT_OUT_ANNOTATION,
  MOST_ANNOTATION_BYTES,
} from '../../../../workflows/kit/run/byte-limits.ts'

describe('annotations of an event', () => {
  it('are returned unchanged when they fit', () => {
    expect(fitAnnotations({ a: '1', b: '2' })).toEqual({ a: '1', b: '2' })
    expect(fitAnnotations(undefined)).toBeUndefined()
    expect(fitAnnotations({})).toBeUndefined()
  })

  it('are omitted as a whole when they do not fit, and named', () => {
    const half = 'x'.repeat(MOST_ANNOTATION_BYTES / 2 - 1)
    expect(fitAnnotations({ a: half, b: half })).toEqual({ a: half, b: half })
    expect(fitAnnotations({ a: half, b: `${half}x`, c: '' })).toEqual({
      a: half,
      c: '',
      [LEFT_OUT_ANNOTATION]: `b (${MOST_ANNOTATION_BYTES / 2} bytes)`,
    })
  })

  it('are counted in bytes', () => {
    const text = 'ä'.repeat(MOST_ANNOTATION_BYTES / 2)
    expect(fitAnnotations({ a: text })).toEqual({ [LEFT_OUT_ANNOTATION]: `a (${MOST_ANNOTATION_BYTES} bytes)` })
  })

  it('name only the first of many omitted annotations', () => {
    const long = 'x'.repeat(MOST_ANNOTATION_BYTES)
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`example.com/${n}`, long]))
    const { [LEFT_OUT_ANNOTATION]: said = '', ...rest } = fitAnnotations(many) ?? {}
    expect(rest).toEqual({})
    expect(said).toMatch(/^example\.com\/0 \(16384 bytes\), /)
    expect(said.length).toBeLessThanOrEqual(1024)
  })
})

describe('the search attribute of a run', () => {
  it('contains each name once, in order', () => {
    expect(fitting(['uid', 'name', 'uid', 'other'])).toEqual(['uid', 'name', 'other'])
    expect(fitting([])).toEqual([])
  })

  it('is cut to the limit of Temporal', () => {
    const names = Array.from(
      { length: 500 },
      (_, index) => `0f1c2a54-d0b9-4c7e-9a3b-${String(index).padStart(12, '0')}`,
    )
    const fit = fitting(names)
    expect(names.slice(0, fit.length)).toEqual(fit)
    expect(fit.length).toBeGreaterThan(40)
    expect(JSON.stringify(fit).length).toBeLessThan(2048)
  })
})
