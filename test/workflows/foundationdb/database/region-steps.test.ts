import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import type { Region } from '../../../../workflows/foundationdb/cluster/schema/database.ts'
import {
  configureString,
  desiredConfiguration,
  isSameConfiguration,
  type NormalizedConfiguration,
} from '../../../../workflows/foundationdb/database/configure-string.ts'
import { nextConfiguration } from '../../../../workflows/foundationdb/database/region-steps.ts'

type Priorities = Readonly<Record<string, number>>

function configuration(usable_regions: number, priorities: Priorities): NormalizedConfiguration {
  const regions = Object.entries(priorities).map(([id, priority]) => ({ datacenters: [{ id, priority }] }))
  return desiredConfiguration({ usable_regions, regions, logs: 3, log_routers: 3, remote_logs: 3 })
}

/** Such as `1: dc1=1 dc2=-1`. */
function summary({ usable_regions, regions }: NormalizedConfiguration): string {
  const shown = regions.map(({ datacenters = [] }: Region) => `${datacenters[0]?.id}=${datacenters[0]?.priority ?? 0}`)
  return `${usable_regions}: ${shown.join(' ')}`
}

function stepsBetween(from: NormalizedConfiguration, to: NormalizedConfiguration): readonly NormalizedConfiguration[] {
  const steps: NormalizedConfiguration[] = []
  for (let now = from; !isSameConfiguration(now, to) && steps.length < 20;) {
    now = nextConfiguration(now, to)
    steps.push(now)
  }
  return steps
}

describe('a change of regions', () => {
  it.each<[string, [number, Priorities], [number, Priorities], readonly string[]]>([
    [
      'adds a region',
      [1, { dc1: 1 }],
      [2, { dc1: 1, dc2: 0 }],
      ['1: dc1=1 dc2=-1', '2: dc1=1 dc2=-1', '2: dc1=1 dc2=0'],
    ],
    ['removes a region', [2, { dc1: 1, dc2: 0 }], [1, { dc1: 1 }], ['2: dc1=1 dc2=-1', '1: dc1=1 dc2=-1', '1: dc1=1']],
    ['adds the first region', [1, {}], [1, { dc1: 1 }], ['1: dc1=1']],
    ['removes the only region', [1, { dc1: 1 }], [1, {}], ['1: ']],
    ['fails over', [2, { dc1: 1, dc2: 0 }], [2, { dc1: 0, dc2: 1 }], ['2: dc2=1 dc1=0']],
    [
      'fails over with one usable region',
      [1, { dc1: 1, dc2: -1 }],
      [1, { dc2: 1, dc1: -1 }],
      ['2: dc1=1 dc2=-1', '2: dc2=1 dc1=-1', '1: dc2=1 dc1=-1'],
    ],
    [
      'replaces the primary region',
      [2, { dc1: 1, dc2: 0 }],
      [2, { dc3: 1, dc2: 0 }],
      ['2: dc2=0 dc1=-1', '1: dc2=0 dc1=-1', '1: dc2=0', '1: dc2=0 dc3=-1', '2: dc2=0 dc3=-1', '2: dc3=1 dc2=0'],
    ],
    ['changes nothing else in stages', [2, { dc1: 1, dc2: 0 }], [2, { dc1: 1, dc2: 0 }], []],
  ])('%s', (_, from, to, expected) => {
    expect(stepsBetween(configuration(...from), configuration(...to)).map(summary)).toEqual(expected)
  })

  it('applies the satellites of existing regions with the next step', () => {
    const [from, base] = [configuration(1, { dc1: 1 }), configuration(2, { dc1: 1, dc2: 0 })]
    const regions = base.regions.map((region, at) =>
      at === 0
        ? { ...region, datacenters: [...(region.datacenters ?? []), { id: 'dc3', priority: 1, satellite: 1 }] }
        : region,
    )
    const [first] = stepsBetween(from, { ...base, regions })
    expect(first?.regions.map(({ datacenters = [] }) => datacenters.map(({ id }) => id))).toEqual([
      ['dc1', 'dc3'],
      ['dc2'],
    ])
  })

  it('applies all other changes at once when regions are equal', () => {
    const from = configuration(2, { dc1: 1, dc2: 0 })
    const to = { ...from, counts: { ...from.counts, logs: 5 } }
    expect(stepsBetween(from, to).map(configureString)).toEqual([configureString(to)])
  })

  it('ends at the final configuration, and a region of non-negative priority always remains', () => {
    const priorities = fc
      .uniqueArray(fc.constantFrom('dc1', 'dc2', 'dc3'), { minLength: 1, maxLength: 2 })
      .map((ids): [number, Priorities] => [ids.length, Object.fromEntries(ids.map((id, at) => [id, 1 - at]))])
    fc.assert(
      fc.property(priorities, priorities, (from, to) => {
        const steps = stepsBetween(configuration(...from), configuration(...to))
        expect(steps.length).toBeLessThanOrEqual(10)
        for (const { regions } of steps)
          expect(regions.some(({ datacenters = [] }) => (datacenters[0]?.priority ?? 0) >= 0)).toBe(true)
      }),
    )
  })
})
