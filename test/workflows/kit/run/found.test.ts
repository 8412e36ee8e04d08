import { describe, expect, it } from 'vitest'
import { fitting } from '../../../../workflows/kit/run/found.ts'

describe('what a run is found by', () => {
  it('is each name once, in their order', () => {
    expect(fitting(['uid', 'name', 'uid', 'other'])).toEqual(['uid', 'name', 'other'])
    expect(fitting([])).toEqual([])
  })

  it('is as much as Temporal takes of an attribute', () => {
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
