import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import {
  durationMs,
  formatGoDuration,
  normalizeGoDuration,
  parseGoDuration,
} from '../../../workflows/chaos/go-duration.ts'

const [LEAST, MOST] = [-(2n ** 63n), 2n ** 63n - 1n]

describe('a duration', () => {
  it.each<readonly [unknown, string]>([
    ['15m', '15m0s'],
    ['1h', '1h0m0s'],
    ['90m', '1h30m0s'],
    ['1h0m0s', '1h0m0s'],
    ['30s', '30s'],
    ['1.5s', '1.5s'],
    ['1.50s', '1.5s'],
    ['.5s', '500ms'],
    ['1.s', '1s'],
    ['2h45.5m', '2h45m30s'],
    ['100ms', '100ms'],
    ['1500ms', '1.5s'],
    ['1ms500us', '1.5ms'],
    ['1us', '1µs'],
    ['1µs', '1µs'],
    ['1μs', '1µs'],
    ['1100ns', '1.1µs'],
    ['1ns', '1ns'],
    ['0', '0s'],
    ['+0', '0s'],
    ['0h', '0s'],
    ['-90s', '-1m30s'],
    ['+5s', '5s'],
    ['100h', '100h0m0s'],
    ['1m1m', '2m0s'],
    ['1h0m0.000000001s', '1h0m0.000000001s'],
    ['2562047h47m16.854775807s', '2562047h47m16.854775807s'],
    ['-2562047h47m16.854775808s', '-2562047h47m16.854775808s'],
    [60_000_000_000, '1m0s'],
    [0, '0s'],
    [-1, '-1ns'],
  ])('%s is %s as Go writes it', (value, normal) => {
    expect(normalizeGoDuration(value)).toBe(normal)
  })

  it.each([
    ...[
      '',
      ' ',
      '1',
      '1.5',
      '.',
      '.s',
      '-',
      '+',
      '--1s',
      '1 s',
      '1s ',
      '1d',
      '1S',
      's',
      'one',
      '1e3s',
      '0x1s',
      '1m 1s',
    ],
    ...['2562047h47m16.854775808s', '-2562047h47m16.854775809s', `${'9'.repeat(99)}h`, `${'0'.repeat(100)}s`, 1.5, NaN],
    ...[Infinity, 1e30, null, undefined, true, {}, ['1s']],
  ])('is not %j', (value) => {
    expect([parseGoDuration(value), durationMs(value), normalizeGoDuration(value)]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  it('has fractions of milliseconds', () => {
    expect(['1h', '1.5ms', '1us', 2_000_000].map(durationMs)).toEqual([3_600_000, 1.5, 0.001, 2])
  })

  it('is parsed from its formatted text', () => {
    fc.assert(
      fc.property(fc.bigInt(LEAST, MOST), (ns) => {
        expect(parseGoDuration(formatGoDuration(ns))).toBe(ns)
      }),
    )
  })

  it('is the sum of its parts', () => {
    const part = fc.record({ count: fc.bigInt(0n, 10_000n), unit: fc.constantFrom('ns', 'us', 'ms', 's', 'm', 'h') })
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 8 }), (parts) => {
        const texts = parts.map(({ count, unit }) => `${count}${unit}`)
        expect(parseGoDuration(texts.join(''))).toBe(
          texts.reduce((sum, one) => sum + (parseGoDuration(one) ?? -1n), 0n),
        )
      }),
    )
  })
})
