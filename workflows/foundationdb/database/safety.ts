// Whether the database may be disturbed now. Each function returns why not, or undefined. Source: spec/foundationdb.md 4.5.

import type { DatabaseConfiguration } from '../cluster/schema/database.ts'
import { redundancyOf } from '../model/process-counts.ts'
import { DEFAULT_RECOVERY_WAITS } from '../recovery-waits.ts'

interface Replication {
  readonly faultTolerance: number
  readonly replicationFactor: number
}

/** The parts of the status of a database that the functions read. */
export interface SafetyStatus {
  readonly isAvailable: boolean
  /** Names of messages. */
  readonly messages: readonly string[]
  readonly coordinators: readonly { readonly address: string; readonly isReachable: boolean }[]
  readonly processes: readonly {
    readonly address: string
    readonly processClass: string
    readonly isExcluded: boolean
    readonly locality: Readonly<Record<string, string>>
    readonly uptimeSeconds: number
    readonly roles: readonly { readonly role: string }[]
  }[]
  readonly data: { readonly teams: readonly { readonly minReplicasRemaining: number | undefined }[] }
  readonly logs: readonly {
    readonly main: Replication | undefined
    readonly remote: Replication | undefined
    readonly satellite: Replication | undefined
  }[]
  readonly recovery: {
    readonly name: string | undefined
    readonly activeGenerations: number | undefined
    readonly secondsSince: number | undefined
  }
  readonly canCleanBounce: boolean
}

const MOST_GENERATIONS = 10
const RECOVERED: ReadonlySet<string> = new Set(['fully_recovered', 'all_logs_recruited'])
const INCOMPLETE: ReadonlySet<string> = new Set([
  ...['unreadable_configuration', 'full_replication_timeout', 'storage_servers_error', 'log_servers_error'],
])

/** The precondition of every disturbance. @param generations the most log generations that recoveries may have left. */
export function availabilityProblem(status: SafetyStatus, generations: number = MOST_GENERATIONS): string | undefined {
  if (!status.isAvailable) return 'the database is unavailable'
  const active = status.recovery.activeGenerations ?? 0
  return active <= generations
    ? undefined
    : `the database has ${active} log generations; expected at most ${generations}`
}

/** Why Pods must not be deleted: another failure could make data or the database unavailable. */
export function faultToleranceProblem(status: SafetyStatus, configuration: DatabaseConfiguration): string | undefined {
  if (!status.isAvailable) return 'the database is unavailable'
  const { faultDomains } = redundancyOf(configuration)
  const { teams } = status.data
  if (teams.length === 0) return 'the database does not report the replicas of its data yet'
  const replicas = Math.min(...teams.map(({ minReplicasRemaining }) => minReplicasRemaining ?? 0))
  if (replicas < faultDomains) return `some data has ${replicas} replicas; expected ${faultDomains}`
  const sets = status.logs.flatMap(({ main, remote, satellite }) => [main, remote, satellite])
  const logs = sets.filter((one) => one !== undefined && one.replicationFactor !== 0)
  if (logs.length === 0) return 'the database does not report its logs yet'
  const weak = logs.find((one) => one !== undefined && one.faultTolerance + 1 < one.replicationFactor)
  if (weak !== undefined)
    return `the fault tolerance of logs is ${weak.faultTolerance}; expected ${weak.replicationFactor - 1}`
  const lost = status.coordinators.find(({ isReachable }) => !isReachable)
  return lost === undefined ? undefined : `coordinator ${lost.address} is not reachable`
}

/** Why no process may be excluded. @param after seconds since the last recovery. */
export function exclusionProblem(
  status: SafetyStatus,
  after: number = DEFAULT_RECOVERY_WAITS.exclude,
): string | undefined {
  return availabilityProblem(status) ?? recoveryProblem(status, after)
}

/** Why no exclusion may be lifted. @param after seconds since the last recovery. */
export function inclusionProblem(
  status: SafetyStatus,
  after: number = DEFAULT_RECOVERY_WAITS.include,
): string | undefined {
  const { name } = status.recovery
  const isRecovered = name !== undefined && RECOVERED.has(name)
  return (
    availabilityProblem(status) ??
    recoveryProblem(status, after) ??
    (isRecovered ? undefined : `the recovery is in state ${name ?? 'unknown'}; expected fully_recovered`)
  )
}

/** Why processes must not be restarted; `waitSeconds`: how long until they have run long enough. */
export function bounceProblem(
  status: SafetyStatus,
  minimumUptimeSeconds: number,
): { readonly problem: string; readonly waitSeconds?: number } | undefined {
  const problem = availabilityProblem(status)
  if (problem !== undefined) return { problem }
  const uptime = minimumUptime(status)
  if (uptime < minimumUptimeSeconds)
    return {
      problem: `the cluster has only been up for ${Math.floor(uptime)} s; expected ${minimumUptimeSeconds} s`,
      waitSeconds: minimumUptimeSeconds - uptime,
    }
  return status.canCleanBounce ? undefined : { problem: 'the database reports that a restart would not be clean' }
}

/** The uptime of the youngest process, or the time since the last recovery if that is shorter, in seconds. */
export function minimumUptime({ processes, recovery }: SafetyStatus): number {
  const counted = processes.filter(
    ({ isExcluded, processClass, locality, uptimeSeconds }) =>
      !isExcluded &&
      processClass !== 'test' &&
      processClass !== 'tester' &&
      'instance_id' in locality &&
      uptimeSeconds !== 0,
  )
  return Math.min(recovery.secondsSince ?? Infinity, ...counted.map(({ uptimeSeconds }) => uptimeSeconds))
}

/** `unreported`: no process of the group is in the status. `unknown`: the status is incomplete, so that no process may be removed. */
export type ExclusionState = 'excluded' | 'in progress' | 'not excluded' | 'unreported' | 'unknown'

/**
 * The progress of the exclusion of a process group.
 *
 * @param hosts addresses of its Pod without ports; used for processes without locality, and for log classes in addition.
 */
export function exclusionState(status: SafetyStatus, processGroupID: string, hosts: readonly string[]): ExclusionState {
  if (status.messages.some((name) => INCOMPLETE.has(name))) return 'unknown'
  const own = status.processes.filter(({ locality, address, processClass }) => {
    const isLog = processClass === 'log' || processClass === 'transaction'
    if (locality['instance_id'] !== undefined && !isLog) return locality['instance_id'] === processGroupID
    return locality['instance_id'] === processGroupID || hosts.some((host) => address.startsWith(`${host}:`))
  })
  if (own.length === 0) return 'unreported'
  if (own.some(({ isExcluded }) => !isExcluded)) return 'not excluded'
  return own.some(({ roles }) => roles.length > 0) ? 'in progress' : 'excluded'
}

/** @param least seconds after the last recovery. */
export function recoveryProblem({ recovery }: SafetyStatus, least: number): string | undefined {
  const seconds = recovery.secondsSince
  if (seconds === undefined || seconds >= least) return undefined
  return `the last recovery was less than ${least} s ago`
}
