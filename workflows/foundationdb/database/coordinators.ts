// Chooses coordinators and checks the current ones. Source: seeds/foundationdb-operator-technical-design.txt, ChangeCoordinators;
// spec/foundationdb.md 4.9.
//
//   C1. Every coordinator has its own zone, and no data centre has a majority.
//   C2. Storage processes are preferred: log processes join only if storage processes do not suffice, then transaction processes.

import type { ClusterSpec } from '../cluster/kind.ts'
import type { DatabaseConfiguration } from '../cluster/schema/database.ts'
import { coordinatorCount } from '../model/process-counts.ts'
import { type Candidate, distribute, type Distribution, DISTRIBUTION_FIELDS } from './distribution.ts'
import { formatAddress, parseAddress, type ProcessAddress } from './process-address.ts'

/** A process as the status of the database reports it. */
export interface ReportedProcess {
  /** `IP:port`, with `:tls` for TLS. */
  readonly address: string
  readonly processClass: string
  readonly commandLine: string
  readonly isExcluded: boolean
  readonly isUnderMaintenance: boolean
  readonly locality: Readonly<Record<string, string>>
}

export interface CoordinatorRules {
  readonly configuration: DatabaseConfiguration
  /** `spec.coordinatorSelection`; replaces C2. */
  readonly selection: ClusterSpec['coordinatorSelection']
  readonly useDNS: boolean
  /** Whether coordinators have TLS addresses. */
  readonly isTls: boolean
  /** IDs of process groups that are marked for removal. */
  readonly marked: ReadonlySet<string>
  readonly primaryDataCenter?: string | undefined
}

/** C2 */
const CLASSES = ['storage', 'log', 'transaction'] as const

export interface CoordinatorCandidate extends Candidate {
  /** For the command `coordinators`. */
  readonly address: string
  readonly processClass: string
}

/** The classes to try, each list with the lists before it. */
export function eligibleClasses(selection: CoordinatorRules['selection']): readonly ReadonlyMap<string, number>[] {
  if (selection !== undefined && selection.length > 0)
    return [new Map(selection.map(({ processClass = '', priority = 0 }) => [processClass, priority]))]
  return CLASSES.map((_, at) => new Map(CLASSES.slice(0, at + 1).map((name) => [name, 0])))
}

/** Of nine in three data halls. The first three may be in one data hall, because the others join later. */
const COORDINATORS_IN_HALL = 3

/** C1. @param count the number of coordinators. */
export function coordinatorLimits(
  configuration: DatabaseConfiguration,
  count: number,
): Readonly<Record<string, number>> {
  return {
    zoneid: 1,
    ...((configuration.usable_regions ?? 1) > 1 && { dcid: Math.floor(count / 2) }),
    ...(configuration.redundancy_mode === 'three_data_hall' && { data_hall: COORDINATORS_IN_HALL }),
  }
}

/** Fields by which coordinators are distributed. */
export function coordinatorFields({ redundancy_mode: mode }: DatabaseConfiguration): readonly string[] {
  return mode === 'three_data_hall' ? ['data_hall', ...DISTRIBUTION_FIELDS] : DISTRIBUTION_FIELDS
}

/** Chooses from processes. @param count default: as the configuration needs. */
export function chooseCoordinators(
  candidates: readonly CoordinatorCandidate[],
  rules: Pick<CoordinatorRules, 'configuration' | 'selection' | 'primaryDataCenter'>,
  count: number = coordinatorCount(rules.configuration),
): Distribution<CoordinatorCandidate> {
  const { configuration, selection, primaryDataCenter } = rules
  const choices = eligibleClasses(selection).map((classes) =>
    distribute(
      candidates.flatMap((one) => {
        const priority = classes.get(one.processClass)
        return priority === undefined ? [] : [{ ...one, priority }]
      }),
      {
        count,
        primaryDataCenter,
        fields: coordinatorFields(configuration),
        limits: coordinatorLimits(configuration, count),
      },
    ),
  )
  return choices.find((choice) => 'chosen' in choice) ?? choices.at(-1) ?? { problem: 'no process class is eligible' }
}

/** The processes that may become coordinators. */
export function coordinatorCandidates(
  processes: readonly ReportedProcess[],
  { useDNS, isTls, marked }: Pick<CoordinatorRules, 'useDNS' | 'isTls' | 'marked'>,
): readonly CoordinatorCandidate[] {
  return processes.flatMap((process) => {
    const { processClass, isExcluded, isUnderMaintenance, locality } = process
    const { instance_id: group = '', dns_name: name, process_id: id = group } = locality
    if (isExcluded || isUnderMaintenance || locality['zoneid'] === undefined || marked.has(group)) return []
    const address = publicAddresses(process)?.find((one) => one.isTls === isTls)
    if (address === undefined) return []
    const shown = formatAddress({ ...address, host: useDNS && name !== undefined ? name : address.host })
    return [{ id: id === '' ? shown : id, locality, processClass, address: shown }]
  })
}

/** The addresses in the command line of a process; undefined if it has none that can be read. */
export function publicAddresses({
  commandLine,
}: Pick<ReportedProcess, 'commandLine'>): readonly ProcessAddress[] | undefined {
  const [, text] = /(?:^|\s)--public[_-]address[= ](\S+)/.exec(commandLine) ?? []
  const addresses = text?.split(',').map((one) => parseAddress(one))
  return addresses?.every((one) => one?.port !== undefined) === true ? (addresses as ProcessAddress[]) : undefined
}

export interface CoordinatorCheck {
  /** Empty if the coordinators are valid. */
  readonly problems: readonly string[]
  /** False if a process has no readable address of the wanted kind, with or without TLS; a change of coordinators must wait. */
  readonly hasUsableAddresses: boolean
}

/** Checks the current coordinators. @param coordinators as the status of the database reports them. */
export function checkCoordinators(
  coordinators: readonly { readonly address: string; readonly isReachable: boolean }[],
  processes: readonly ReportedProcess[],
  rules: CoordinatorRules,
): CoordinatorCheck {
  const count = coordinatorCount(rules.configuration)
  const classes = eligibleClasses(rules.selection).at(-1) ?? new Map<string, number>()
  const found = coordinators.map(({ address }) => processes.find((process) => hasAddress(process, address)))
  const own = coordinators.flatMap(({ address, isReachable }, at) =>
    coordinatorProblem({ address, isReachable, process: found[at], classes, rules }),
  )
  const reported = found.filter((process) => process !== undefined)
  const zones = new Set(reported.map(({ locality }) => locality['zoneid'] ?? ''))
  const spread = Object.entries(coordinatorLimits(rules.configuration, count)).flatMap(([field, limit]) => {
    const values = reported.map(({ locality }) => locality[field] ?? '')
    const crowded = values.find((value) => values.filter((one) => one === value).length > limit)
    return crowded === undefined ? [] : [`more than ${limit} coordinators have ${field} "${crowded}"`]
  })
  const number = zones.size === count ? [] : [`coordinators are in ${zones.size} zones; expected ${count}`]
  return {
    problems: [...own, ...spread, ...number],
    hasUsableAddresses: processes.every(
      (process) => publicAddresses(process)?.some(({ isTls }) => isTls === rules.isTls) === true,
    ),
  }
}

interface CheckedCoordinator {
  readonly address: string
  readonly isReachable: boolean
  readonly process: ReportedProcess | undefined
  readonly classes: ReadonlyMap<string, number>
  readonly rules: CoordinatorRules
}

function coordinatorProblem(one: CheckedCoordinator): readonly string[] {
  const { address, isReachable, process, classes, rules } = one
  const problem = (text: string) => [`coordinator ${address} ${text}`]
  if (!isReachable) return problem('is not reachable')
  if (process === undefined) return problem('is no reported process')
  if (process.isExcluded) return problem('is excluded')
  if (rules.marked.has(process.locality['instance_id'] ?? '')) return problem('is marked for removal')
  if (!classes.has(process.processClass)) return problem(`has class ${process.processClass}`)
  const text = addressProblem(address, process, rules)
  return text === undefined ? [] : problem(text)
}

function addressProblem(address: string, { locality }: ReportedProcess, { isTls, useDNS }: CoordinatorRules) {
  const parsed = parseAddress(address)
  if (parsed?.isTls !== isTls) return isTls ? 'has no TLS' : 'has TLS'
  const { dns_name: name } = locality
  const isDNS = parsed.isFromHostname || parsed.host === name
  if (useDNS) return name !== undefined && !isDNS ? 'has an IP address instead of its DNS name' : undefined
  return isDNS ? 'has a DNS name instead of its IP address' : undefined
}

function hasAddress(process: ReportedProcess, text: string): boolean {
  const address = parseAddress(text)
  if (address === undefined) return false
  const all = publicAddresses(process) ?? [parseAddress(process.address)]
  return all.some((one) => {
    const isHost = one?.host === address.host || process.locality['dns_name'] === address.host
    return isHost && one?.port === address.port
  })
}
