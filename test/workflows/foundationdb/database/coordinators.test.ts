import { describe, expect, it } from 'vitest'

import {
  checkCoordinators,
  chooseCoordinators,
  coordinatorCandidates,
  type CoordinatorRules,
  type ReportedProcess,
} from '../../../../workflows/foundationdb/database/coordinators.ts'

/** @param change fields that differ from a healthy process in its own zone. */
function reported(id: string, number: number, change: Partial<ReportedProcess> = {}): ReportedProcess {
  const address = `10.0.0.${number}:4501`
  const processClass = id.replace(/-\d+$/, '')
  const locality = { instance_id: id, zoneid: `zone-${number}`, dns_name: `${id}.db`, ...change.locality }
  const base = { address, processClass, isExcluded: false, isUnderMaintenance: false }
  return { ...base, commandLine: `fdbserver --public_address=${address} --class=x`, ...change, locality }
}

const RULES: CoordinatorRules = {
  configuration: { redundancy_mode: 'double' },
  selection: undefined,
  useDNS: false,
  isTls: false,
  marked: new Set(),
}

const classOf = (id: string, from: number, count: number) =>
  Array.from({ length: count }, (_, at) => reported(`${id}-${from + at}`, from + at))

function choose(processes: readonly ReportedProcess[], rules: Partial<CoordinatorRules> = {}) {
  const all = { ...RULES, ...rules }
  const result = chooseCoordinators(coordinatorCandidates(processes, all), all)
  return 'chosen' in result ? result.chosen.map(({ address }) => address) : result.problem
}

const host = (number: number) => `10.0.0.${number}:4501`

describe('new coordinators', () => {
  it.each<[string, readonly ReportedProcess[], Partial<CoordinatorRules>, readonly string[] | string]>([
    ['are storage processes', [...classOf('log', 1, 3), ...classOf('storage', 4, 3)], {}, [4, 5, 6].map(host)],
    [
      'include log processes if they must',
      [...classOf('transaction', 1, 2), ...classOf('log', 3, 2), ...classOf('storage', 5, 1)],
      {},
      [3, 4, 5].map(host),
    ],
    [
      'include transaction processes at last',
      [...classOf('transaction', 1, 1), ...classOf('log', 2, 1), ...classOf('storage', 3, 1)],
      {},
      [2, 3, 1].map(host),
    ],
    ['are never stateless', classOf('stateless', 1, 3), {}, 'Could only select 0 processes, but 3 are required'],
    [
      'have different zones',
      classOf('storage', 1, 3).map((one) => ({ ...one, locality: { ...one.locality, zoneid: 'a' } })),
      {},
      'Could only select 1 processes, but 3 are required',
    ],
    [
      'are not excluded, under maintenance, without zone or marked',
      [
        reported('storage-1', 1, { isExcluded: true }),
        reported('storage-2', 2, { isUnderMaintenance: true }),
        { ...reported('storage-3', 3), locality: {} },
        ...classOf('storage', 4, 4),
      ],
      { marked: new Set(['storage-4']) },
      [5, 6, 7].map(host),
    ],
    [
      'have the classes of coordinatorSelection',
      [...classOf('storage', 1, 3), ...classOf('coordinator', 4, 2)],
      { selection: [{ processClass: 'coordinator', priority: 10 }, { processClass: 'storage' }] },
      [4, 5, 1].map(host),
    ],
    [
      'have DNS names',
      classOf('storage', 1, 3),
      { useDNS: true },
      ['storage-1.db:4501', 'storage-2.db:4501', 'storage-3.db:4501'],
    ],
  ])('%s', (_, processes, rules, expected) => {
    const found = choose(processes, rules)
    expect(typeof found === 'string' ? found : found.toSorted()).toEqual(
      typeof expected === 'string' ? expected : expected.toSorted(),
    )
  })

  const inDataCenters = (sizes: Readonly<Record<string, number>>) =>
    Object.entries(sizes).flatMap(([dcid, size], at) =>
      Array.from({ length: size }, (_, of) => {
        const number = at * 20 + of
        return reported(`storage-${number}`, number, { locality: { dcid } })
      }),
    )

  it('of several data centres have no majority in one', () => {
    const configuration = { usable_regions: 2 }
    const choice = choose(inDataCenters({ dc1: 9, dc2: 4, dc3: 4 }), { configuration })
    expect(choice).toHaveLength(9)
    const inFirst = (choice as readonly string[]).filter((address) => Number(/\.(\d+):/.exec(address)?.[1]) < 20)
    expect(inFirst.length).toBeLessThanOrEqual(4)
    expect(choose(inDataCenters({ dc1: 9, dc2: 4 }), { configuration })).toBe(
      'Could only select 8 processes, but 9 are required',
    )
  })

  it('of three data halls are three in each', () => {
    const processes = inDataCenters({ h1: 5, h2: 5, h3: 5 }).map((one) => {
      const { dcid: data_hall = '', ...locality } = one.locality
      return { ...one, locality: { ...locality, data_hall } }
    })
    const rules = { ...RULES, configuration: { redundancy_mode: 'three_data_hall' } } as const
    const choice = chooseCoordinators(coordinatorCandidates(processes, rules), rules)
    const halls = 'chosen' in choice ? choice.chosen.map(({ locality }) => locality['data_hall']).sort() : []
    expect(halls).toEqual(['h1', 'h1', 'h1', 'h2', 'h2', 'h2', 'h3', 'h3', 'h3'])
  })

  it('have the TLS address of processes with both', () => {
    const both = 'fdbserver --public_address=[10.0.0.1]:4500:tls,[10.0.0.1]:4501'
    const process = reported('storage-1', 1, { commandLine: both })
    expect([true, false].map((isTls) => coordinatorCandidates([process], { ...RULES, isTls })[0]?.address)).toEqual([
      '10.0.0.1:4500:tls',
      '10.0.0.1:4501',
    ])
  })
})

describe('the current coordinators', () => {
  const processes = [...classOf('storage', 1, 4), reported('stateless-5', 5)]
  const at = (...numbers: readonly number[]) => numbers.map((number) => ({ address: host(number), isReachable: true }))

  it.each<[string, readonly { address: string; isReachable: boolean }[], Partial<CoordinatorRules>, readonly string[]]>(
    [
      ['are valid', at(1, 2, 3), {}, []],
      ['are too few', at(1, 2), {}, ['coordinators are in 2 zones; expected 3']],
      [
        'are unreachable',
        [...at(1, 2), { address: host(3), isReachable: false }],
        {},
        [`coordinator ${host(3)} is not reachable`],
      ],
      [
        'are gone',
        at(1, 2, 9),
        {},
        [`coordinator ${host(9)} is no reported process`, 'coordinators are in 2 zones; expected 3'],
      ],
      [
        'are marked for removal',
        at(1, 2, 3),
        { marked: new Set(['storage-3']) },
        [`coordinator ${host(3)} is marked for removal`],
      ],
      ['have another class', at(1, 2, 5), {}, [`coordinator ${host(5)} has class stateless`]],
      ['need TLS', at(1, 2, 3), { isTls: true }, [1, 2, 3].map((number) => `coordinator ${host(number)} has no TLS`)],
      [
        'need DNS names',
        at(1, 2, 3),
        { useDNS: true },
        [1, 2, 3].map((number) => `coordinator ${host(number)} has an IP address instead of its DNS name`),
      ],
    ],
  )('%s', (_, coordinators, rules, problems) => {
    const check = checkCoordinators(coordinators, processes, { ...RULES, ...rules })
    expect(check).toEqual({ problems, hasUsableAddresses: rules.isTls !== true })
  })

  it('share a zone', () => {
    const same = processes.map((one) => ({ ...one, locality: { ...one.locality, zoneid: 'a' } }))
    const { problems } = checkCoordinators(at(1, 2, 3), same, RULES)
    expect(problems).toEqual(['more than 1 coordinators have zoneid "a"', 'coordinators are in 1 zones; expected 3'])
  })

  it('cannot be judged while a command line has no address', () => {
    const broken = [...processes, reported('log-6', 6, { commandLine: 'fdbserver' })]
    expect(checkCoordinators(at(1, 2, 3), broken, RULES)).toEqual({ problems: [], hasUsableAddresses: false })
  })
})
