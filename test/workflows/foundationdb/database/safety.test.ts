import { describe, expect, it } from 'vitest'

import {
  availabilityProblem,
  bounceProblem,
  exclusionProblem,
  exclusionState,
  faultToleranceProblem,
  inclusionProblem,
  minimumUptime,
  type SafetyStatus,
} from '../../../../workflows/foundationdb/database/safety.ts'

type Process = SafetyStatus['processes'][number]

const PROCESS: Process = {
  address: '10.0.0.1:4501',
  processClass: 'storage',
  isExcluded: false,
  locality: { instance_id: 'storage-1' },
  uptimeSeconds: 1000,
  roles: [{ role: 'storage' }],
}

const HEALTHY: SafetyStatus = {
  isAvailable: true,
  messages: [],
  coordinators: [{ address: '10.0.0.1:4501', isReachable: true }],
  processes: [PROCESS],
  data: { teams: [{ minReplicasRemaining: 2 }] },
  logs: [{ main: { faultTolerance: 1, replicationFactor: 2 }, remote: undefined, satellite: undefined }],
  recovery: { name: 'fully_recovered', activeGenerations: 1, secondsSince: 1000 },
  canCleanBounce: true,
}

const recovery = (change: Partial<SafetyStatus['recovery']>) => ({ recovery: { ...HEALTHY.recovery, ...change } })
const log = (faultTolerance: number, replicationFactor: number) => ({ faultTolerance, replicationFactor })

describe('a healthy database', () => {
  it('may be disturbed', () => {
    expect([
      availabilityProblem(HEALTHY),
      faultToleranceProblem(HEALTHY, { redundancy_mode: 'double' }),
      exclusionProblem(HEALTHY),
      inclusionProblem(HEALTHY),
      bounceProblem(HEALTHY, 600),
    ]).toEqual([undefined, undefined, undefined, undefined, undefined])
  })
})

describe('a database must not be disturbed', () => {
  it.each<[Partial<SafetyStatus>, string]>([
    [{ isAvailable: false }, 'the database is unavailable'],
    [recovery({ activeGenerations: 11 }), 'the database has 11 log generations; expected at most 10'],
  ])('at all: %j', (change, expected) => {
    const status = { ...HEALTHY, ...change }
    const problems = [availabilityProblem(status), exclusionProblem(status), inclusionProblem(status)]
    expect([...problems, bounceProblem(status, 600)?.problem]).toEqual([expected, expected, expected, expected])
  })

  it.each<[Partial<SafetyStatus>, string]>([
    [{ isAvailable: false }, 'the database is unavailable'],
    [{ data: { teams: [] } }, 'the database does not report the replicas of its data yet'],
    [
      { data: { teams: [{ minReplicasRemaining: 3 }, { minReplicasRemaining: 1 }] } },
      'some data has 1 replicas; expected 2',
    ],
    [{ data: { teams: [{ minReplicasRemaining: undefined }] } }, 'some data has 0 replicas; expected 2'],
    [{ logs: [] }, 'the database does not report its logs yet'],
    [
      { logs: [{ main: log(0, 2), remote: undefined, satellite: undefined }] },
      'the fault tolerance of logs is 0; expected 1',
    ],
    [
      { logs: [{ main: log(1, 2), remote: log(0, 2), satellite: log(-1, 0) }] },
      'the fault tolerance of logs is 0; expected 1',
    ],
    [{ coordinators: [{ address: 'a:1', isReachable: false }] }, 'coordinator a:1 is not reachable'],
  ])('by deleting Pods: %j', (change, expected) => {
    expect(faultToleranceProblem({ ...HEALTHY, ...change }, { redundancy_mode: 'double' })).toBe(expected)
  })

  it('soon after a recovery', () => {
    const status = { ...HEALTHY, ...recovery({ secondsSince: 119.5 }) }
    expect(exclusionProblem(status)).toBe('the last recovery was less than 120 s ago')
    expect(inclusionProblem({ ...HEALTHY, ...recovery({ secondsSince: 599 }) })).toContain('less than 600 s ago')
    expect(inclusionProblem({ ...HEALTHY, ...recovery({ name: 'accepting_commits' }) })).toBe(
      'the recovery is in state accepting_commits; expected fully_recovered',
    )
    expect(inclusionProblem({ ...HEALTHY, ...recovery({ name: 'all_logs_recruited' }) })).toBeUndefined()
  })

  it('by restarting young processes', () => {
    const status = { ...HEALTHY, processes: [{ ...PROCESS, uptimeSeconds: 10 }] }
    expect(bounceProblem(status, 600)).toEqual({
      problem: 'the cluster has only been up for 10 s; expected 600 s',
      waitSeconds: 590,
    })
    expect(bounceProblem({ ...HEALTHY, canCleanBounce: false }, 600)?.problem).toContain('would not be clean')
  })
})

describe('the uptime of a database', () => {
  it.each<[string, readonly Partial<Process>[], number | undefined, number]>([
    ['is the shortest of its processes', [{ uptimeSeconds: 50 }, { uptimeSeconds: 40 }], 1000, 40],
    ['is at most the time since the last recovery', [{ uptimeSeconds: 50 }], 30, 30],
    [
      'ignores excluded processes, testers, and processes without locality or uptime',
      [
        { uptimeSeconds: 1, isExcluded: true },
        { uptimeSeconds: 2, processClass: 'test' },
        { uptimeSeconds: 3, locality: {} },
        { uptimeSeconds: 0 },
        { uptimeSeconds: 70 },
      ],
      undefined,
      70,
    ],
  ])('%s', (_, changes, secondsSince, expected) => {
    const processes = changes.map((change) => ({ ...PROCESS, ...change }))
    expect(minimumUptime({ ...HEALTHY, processes, ...recovery({ secondsSince }) })).toBe(expected)
  })
})

describe('the exclusion of a process group', () => {
  const log1 = { ...PROCESS, processClass: 'log', locality: {}, isExcluded: false, roles: [] }
  it.each<[Partial<SafetyStatus>, string]>([
    [{}, 'not excluded'],
    [{ processes: [{ ...PROCESS, isExcluded: true }] }, 'in progress'],
    [{ processes: [{ ...PROCESS, isExcluded: true, roles: [] }] }, 'excluded'],
    [
      {
        processes: [
          { ...PROCESS, isExcluded: true, roles: [] },
          { ...PROCESS, address: '10.0.0.1:4503' },
        ],
      },
      'not excluded',
    ],
    [{ processes: [] }, 'unreported'],
    [{ processes: [log1] }, 'not excluded'],
    [{ messages: ['storage_servers_error'], processes: [{ ...PROCESS, isExcluded: true, roles: [] }] }, 'unknown'],
  ])('with %j is %s', (change, expected) => {
    expect(exclusionState({ ...HEALTHY, ...change }, 'storage-1', ['10.0.0.1'])).toBe(expected)
  })
})
