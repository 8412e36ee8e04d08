import { describe, expect, it } from 'vitest'

import { parseDuration } from '../../../../workflows/kit/kind/duration.ts'

describe('a duration', () => {
  it.each([
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['.5s', 500],
    ['250ms', 250],
    ['1h1ms', 3_600_001],
    ['0s', 0],
    ['none', 'none'],
    ['0', 'none'],
  ])('%s is %s', (text, expected) => {
    expect(parseDuration(text)).toBe(expected)
  })

  it.each(['', '10', 's', '1 m', '1m ', '-1m', '1d', '1mm', 'forever', '9999999999h', '2562048h'])(
    '"%s" is none',
    (text) => {
      expect(parseDuration(text)).toBeUndefined()
    },
  )
})
