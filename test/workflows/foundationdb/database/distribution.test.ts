import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import {
  type Candidate,
  distribute,
  type DistributionRules,
} from '../../../../workflows/foundationdb/database/distribution.ts'

/** Such as `a:z1:dc1`: ID, zone, data centre. */
const candidate = (text: string): Candidate => {
  const [id = '', zoneid = '', dcid] = text.split(':')
  return { id, locality: { zoneid, ...(dcid !== undefined && { dcid }) } }
}

function chosen(texts: readonly string[], rules: DistributionRules): readonly string[] | string {
  const result = distribute(texts.map(candidate), rules)
  return 'chosen' in result ? result.chosen.map(({ id }) => id) : result.problem
}

describe('processes that are spread over fault domains', () => {
  it.each<[string, readonly string[], DistributionRules, readonly string[] | string]>([
    ['are in different zones', ['a:z1', 'b:z1', 'c:z2', 'd:z3'], { count: 3 }, ['a', 'c', 'd']],
    ['reuse zones evenly', ['a:z1', 'b:z1', 'c:z1', 'd:z2', 'e:z2', 'f:z3'], { count: 5 }, ['a', 'd', 'f', 'b', 'e']],
    [
      'are too few if every zone may have one',
      ['a:z1', 'b:z1', 'c:z2', 'd:z3'],
      { count: 5, limits: { zoneid: 1 } },
      'Could only select 3 processes, but 5 are required',
    ],
    [
      'raise the limit of the last field first',
      ['a:z1:dc1', 'b:z2:dc1', 'c:z3:dc2', 'd:z4:dc2', 'e:z5:dc2'],
      { count: 4, limits: { zoneid: 1, dcid: 2 } },
      ['a', 'c', 'b', 'd'],
    ],
    ['prefer the primary data centre', ['a:z1:dc1', 'b:z2:dc2'], { count: 1, primaryDataCenter: 'dc2' }, ['b']],
    ['are none of none', [], { count: 0 }, []],
  ])('%s', (_, texts, rules, expected) => {
    expect(chosen(texts, rules)).toEqual(expected)
  })

  it('prefer a higher priority over an earlier ID', () => {
    const all = [candidate('a:z1'), { ...candidate('b:z2'), priority: 1 }]
    expect(distribute(all, { count: 1 })).toEqual({ chosen: [all[1]] })
  })

  it('do not depend on the order of the candidates', () => {
    const texts = ['a:z1:dc1', 'b:z1:dc2', 'c:z2:dc1', 'd:z3:dc2', 'e:z3:dc1', 'f:z4:dc3']
    const expected = chosen(texts, { count: 4 })
    fc.assert(
      fc.property(fc.shuffledSubarray(texts, { minLength: texts.length }), (shuffled) => {
        expect(chosen(shuffled, { count: 4 })).toEqual(expected)
      }),
    )
  })
})
