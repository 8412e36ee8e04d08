// The text of `status`, `status details` and `status minimal`, made from the document of `status json`.
// Source: fdb-recordings 03/002, 03/034, 05/002, 05/003, 08/019, 13/014, 25/006.

import type { Json, StatusDocument } from './status.ts'

const object = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})
const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : [])
const text = (value: unknown): string => (value === undefined ? 'unknown' : `${value as string | number}`)

/** Breaks lines at 80 columns, at blanks. */
function wrap(paragraph: string): string {
  const lines: string[] = []
  for (const word of paragraph.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= 80) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines.flatMap((line) => line.match(/.{1,80}/gs) ?? ['']).join('\n')
}

export function minimalText({ client }: StatusDocument): string {
  const status = object(client['database_status'])
  if (status['available'] !== true) return "The database is unavailable; type `status' for more information."
  const hasIssues = status['healthy'] !== true || list(client['messages']).length > 0
  return hasIssues
    ? "The database is available, but has issues (type 'status' for more information)."
    : 'The database is available.'
}

/** Without a line break at the beginning; with one at the end. */
export function statusText(document: StatusDocument, path: string, details: boolean): string {
  const { client, cluster } = document
  const head = [`Using cluster file \`${path}'.`, ...clientProblems(client), ...clusterProblems(document)]
  const shows = list(client['coordinators'] && object(client['coordinators'])['coordinators'])
  if (!showsSections(document)) return `${head.join('\n\n')}\n`
  const sections = [
    configurationSection(cluster),
    clusterSection(cluster),
    dataSection(cluster),
    spaceSection(cluster),
    workloadSection(cluster),
    'Backup and DR:\n  Running backups        - 0\n  Running DRs            - 0',
    ...(details ? [processSection(cluster), `Coordination servers:\n${coordinatorLines(shows)}`] : []),
    `Client time: ${time(client['timestamp'])}`,
  ]
  return `${[...head, ...sections].join('\n\n')}\n`
}

/** Without a recovery the sections are left out. */
function showsSections({ client, cluster }: StatusDocument): boolean {
  if (object(object(client['coordinators']))['quorum_reachable'] !== true) return false
  const recovery = object(cluster['recovery_state'])['name']
  const stuck = [
    'configuration_never_created',
    'configuration_invalid',
    'locking_coordinated_state',
    'recruiting_transaction_servers',
  ]
  return !stuck.includes(String(recovery))
}

const coordinatorLines = (coordinators: readonly Json[]) =>
  coordinators
    .map(({ address, reachable }) => `  ${text(address)}  (${reachable === true ? 'reachable' : 'unreachable'})`)
    .join('\n')

const LOST_COORDINATORS =
  'Could not communicate with all of the coordination servers.\n  The database will remain operational as long as we\n  can connect to a quorum of servers, however the fault\n  tolerance of the system is reduced as long as the\n  servers remain disconnected.'

function clientProblems(client: Json): string[] {
  const { coordinators, quorum_reachable: quorum } = object(client['coordinators'])
  const lines = coordinatorLines(list(coordinators))
  if (quorum !== true) return [`Could not communicate with a quorum of coordination servers:\n${lines}`]
  const lost = list(coordinators).some(({ reachable }) => reachable !== true)
  const others = list(client['messages']).map(({ name, description }) =>
    name === 'incorrect_cluster_file_contents' ? staleFileText(text(description)) : wrap(text(description)),
  )
  return [...others, ...(lost ? [`${LOST_COORDINATORS}\n\n${lines}`] : [])]
}

function staleFileText(description: string): string {
  const [first = '', file = '', current = '', verify = ''] = description.split('\n')
  const value = (line: string) => line.replace(': ', ':\n')
  return [first, wrapLines(value(file)), wrapLines(value(current)), wrap(verify)].join('\n\n')
}

const wrapLines = (lines: string) => lines.split('\n').map(wrap).join('\n')

function clusterProblems({ client, cluster }: StatusDocument): string[] {
  const recovery = object(cluster['recovery_state'])
  const reachable = coordinatorLines(list(object(client['coordinators'])['coordinators']))
  const name = text(recovery['name'])
  const shown = ['configuration_never_created', 'configuration_invalid', 'locking_coordinated_state'].includes(name)
  const withCoordinators = name === 'configuration_invalid' ? '' : `\n\n${reachable}`
  const state = shown ? [`${wrap(text(recovery['description']))}${withCoordinators}`] : []
  const hidden = recovery['name'] !== undefined && cluster['database_available'] !== true && recoveryIsStuck(name)
  const messages = list(cluster['messages']).filter((each) => !(hidden && each['name'] === 'unreadable_configuration'))
  return [
    ...state,
    ...messages
      .filter((each) => each['name'] !== 'unreachable_processes')
      .map((each) => wrap(text(each['description']))),
  ]
}

const recoveryIsStuck = (name: string) => !['fully_recovered', 'all_logs_recruited', 'accepting_commits'].includes(name)

function configurationSection(cluster: Json): string {
  const configuration = object(cluster['configuration'])
  const optional: readonly (readonly [string, string])[] = [
    ['commit_proxies', 'Desired Commit Proxies'],
    ['grv_proxies', 'Desired GRV Proxies'],
    ['resolvers', 'Desired Resolvers'],
    ['logs', 'Desired Logs'],
    ['remote_logs', 'Desired Remote Logs'],
    ['log_routers', 'Desired Log Routers'],
  ]
  const excluded = list(configuration['excluded_servers']).length
  return [
    'Configuration:',
    row('Redundancy mode', text(configuration['redundancy_mode'])),
    row('Storage engine', text(configuration['storage_engine'])),
    row('Coordinators', text(configuration['coordinators_count'])),
    ...(excluded > 0 ? [row('Exclusions', `${String(excluded)} (type \`exclude' for details)`)] : []),
    ...optional.filter(([key]) => key in configuration).map(([key, label]) => row(label, text(configuration[key]))),
    row('Usable Regions', text(configuration['usable_regions'])),
    ...regionLines(configuration),
  ].join('\n')
}

function regionLines({ regions }: Json): string[] {
  if (list(regions).length === 0) return []
  const ids = list(regions)
    .map((region) => list(region['datacenters'])[0] ?? {})
    .sort((a, b) => Number(b['priority']) - Number(a['priority']))
  const labels = ['Primary', 'Remote']
  const lines = ids.flatMap(({ id }, index) => [
    `    ${labels[index] ?? 'Remote'} -`,
    `        Datacenter                    - ${text(id)}`,
  ])
  return ['  Regions: ', ...lines]
}

const row = (label: string, value: string) => `  ${label.padEnd(22)} - ${value}`

function time(seconds: unknown): string {
  const iso = new Date(Number(seconds) * 1000).toISOString()
  return `${iso.slice(5, 7)}/${iso.slice(8, 10)}/${iso.slice(2, 4)} ${iso.slice(11, 19)}`
}

function clusterSection(cluster: Json): string {
  const processes = Object.values(object(cluster['processes'])).map(object)
  if (cluster['processes'] === undefined) {
    const names = ['FoundationDB processes', 'Zones']
    const unknown = names.map((name) => row(name, 'unknown'))
    return ['Cluster:', ...unknown, row('Machines', ''), row('Machines', 'unknown')].join('\n')
  }
  const count = (of: readonly Json[], key: string) => new Set(of.map((process) => process[key])).size
  const excluded = processes.filter(({ excluded: isExcluded }) => isExcluded === true)
  const errors = processes.filter(({ messages }) => list(messages).length > 0).length
  const less = (number: number) => (excluded.length > 0 ? ` (less ${String(number)} excluded)` : '')
  const note =
    excluded.length > 0 || errors > 0
      ? ` (less ${String(excluded.length)} excluded; ${String(errors)} with errors)`
      : ''
  const zones = count(processes, 'fault_domain')
  const machines = count(processes, 'machine_id')
  const memory = Math.min(...processes.map(({ memory: each }) => Number(object(each)['limit_bytes']))) / 1_073_741_824
  const tolerance = object(cluster['fault_tolerance'])['max_zone_failures_without_losing_data']
  return [
    'Cluster:',
    row('FoundationDB processes', `${String(processes.length)}${note}`),
    row('Zones', `${String(zones)}${less(count(excluded, 'fault_domain'))}`),
    row('Machines', `${String(machines)}${less(count(excluded, 'machine_id'))}`),
    row('Memory availability', `${memory.toFixed(1)} GB per process on machine with least available`),
    ...(memory < 4 ? [`${' '.repeat(27)}>>>>> (WARNING: 4.0 GB recommended) <<<<<`] : []),
    ...(tolerance === undefined
      ? []
      : [row('Fault Tolerance', `${text(tolerance)} ${zones === machines ? 'machines' : 'zones'}`)]),
    row('Server time', time(cluster['cluster_controller_timestamp'])),
  ].join('\n')
}

const HEALTH: Readonly<Record<string, string>> = {
  healthy: 'Healthy',
  healthy_repartitioning: 'Healthy (Repartitioning)',
}
const megabytes = (bytes: unknown) =>
  bytes === undefined ? 'unknown' : `${String(Math.floor(Number(bytes) / 1e6))} MB`

const unknownMoves = (state: Json) => (state['name'] === 'initializing' ? 'unknown (initializing)' : 'unknown')

function dataSection(cluster: Json): string {
  const data = object(cluster['data'])
  const state = object(data['state'])
  const health = HEALTH[String(state['name'])] ?? text(state['description'])
  const bytes = object(data['moving_data'])['in_flight_bytes']
  const moving = bytes === undefined ? unknownMoves(state) : `${(Number(bytes) / 1e9).toFixed(3)} GB`
  const isHealing = state['healthy'] === false
  return [
    'Data:',
    row('Replication health', isHealing ? `HEALING: ${health}` : health),
    row('Moving data', moving),
    row('Sum of key-value sizes', megabytes(data['total_kv_size_bytes'])),
    row('Disk space used', megabytes(data['total_disk_used_bytes'])),
  ].join('\n')
}

function spaceSection(cluster: Json): string {
  const data = object(cluster['data'])
  const storage = data['least_operating_space_bytes_storage_server']
  if (storage === undefined) return 'Operating space:\n  Unable to retrieve operating space status'
  const free = (bytes: unknown) => `${(Number(bytes) / 1e9).toFixed(1)} GB free on most full server`
  const log = data['least_operating_space_bytes_log_server']
  return ['Operating space:', row('Storage server', free(storage)), row('Log server', free(log))].join('\n')
}

function workloadSection(cluster: Json): string {
  const workload = object(cluster['workload'])
  const rate = (group: string, name: string) => {
    const hz = object(object(workload[group])[name])['hz']
    return hz === undefined ? 'unknown' : `${String(Math.round(Number(hz)))} Hz`
  }
  return [
    'Workload:',
    row('Read rate', rate('operations', 'reads')),
    row('Write rate', rate('operations', 'writes')),
    row('Transactions started', rate('transactions', 'started')),
    row('Transactions committed', rate('transactions', 'committed')),
    row('Conflict rate', rate('transactions', 'conflicted')),
  ].join('\n')
}

function processSection(cluster: Json): string {
  const processes = Object.values(object(cluster['processes'])).map(object)
  const sorted = processes.sort((a, b) => text(a['address']).localeCompare(text(b['address']), 'en', { numeric: true }))
  const line = ({ address, memory }: Json) => {
    const { used_bytes: used, limit_bytes: limit } = object(memory)
    const gb = (bytes: unknown) => (Number(bytes) / 1_073_741_824).toFixed(1)
    return `  ${text(address).padEnd(22)} (  1% cpu; 20% machine; 0.000 Gbps;  5% disk IO; ${gb(used)} GB / ${gb(limit)} GB RAM  )`
  }
  return ['Process performance details:', ...sorted.map(line)].join('\n')
}
