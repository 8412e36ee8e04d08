import { isIPv4 as nodeIPv4, isIPv6 as nodeIPv6 } from 'node:net'

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { isIPv4, isIPv6 } from '../../../../../workflows/chaos/disruption/rules/dns.ts'

const TEXTS = [
  '',
  ':',
  '::',
  ':::',
  '1::',
  '::1',
  '1::2::3',
  '1:2:3:4:5:6:7:8',
  '1:2:3:4:5:6:7::',
  '::1.2.3.4',
  '1:2:3:4:5:6:1.2.3.4',
]
const MORE = [
  '1:2:3:4:5:6:7',
  '12345::',
  'g::',
  '1:2:3:4:5:6:7:1.2.3.4',
  '::1.2.3',
  '1.2.3.4::',
  '1.2.3.4',
  '01.2.3.4',
  '1.2.3.256',
  '1.2.3',
]

describe('the parsers of addresses', () => {
  it.each([...TEXTS, ...MORE])('agree with Node: %s', (text) => {
    expect([isIPv4(text), isIPv6(text)]).toEqual([nodeIPv4(text), nodeIPv6(text)])
  })

  it('agree with Node about generated addresses and invalid texts', () => {
    const near = fc.array(fc.constantFrom('::', ':', '.', '0', '1', 'ab', 'ffff', '255', '256'), { maxLength: 18 })
    fc.assert(
      fc.property(
        fc.oneof(
          fc.ipV4(),
          fc.ipV6(),
          near.map((parts) => parts.join('')),
        ),
        (text) => {
          expect([isIPv4(text), isIPv6(text)]).toEqual([nodeIPv4(text), nodeIPv6(text)])
        },
      ),
      { numRuns: 2000 },
    )
  })
})
