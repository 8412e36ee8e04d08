// The configuration of a database: the keys below `\xff/conf/`, as `configure` writes them and status shows them.
// Source: fdb-recordings 05/062, 10/074 (keys), 03, 10, 19 (which words are accepted).

export type ConfigurationKeys = ReadonlyMap<string, string>

/** Redundancy modes: replicas of storage and logs, and zones or data halls that they must spread over. */
export const REDUNDANCY_MODES = {
  single: { replicas: 1, logs: 1, zones: 1 },
  double: { replicas: 2, logs: 2, zones: 2 },
  triple: { replicas: 3, logs: 3, zones: 3 },
  three_data_hall: { replicas: 3, logs: 4, zones: 4 },
  three_datacenter: { replicas: 6, logs: 4, zones: 4 },
} as const
export type RedundancyMode = keyof typeof REDUNDANCY_MODES

/** Engine names: the value of `storage_engine`, of `log_engine`, and the name in status. */
const ENGINES: Readonly<Record<string, readonly [storage: string, log: string]>> = {
  'ssd-1': ['0', '0'],
  'ssd-2': ['2', '2'],
  ssd: ['2', '2'],
  'memory-1': ['1', '0'],
  'memory-2': ['1', '2'],
  memory: ['1', '2'],
  'ssd-redwood-1-experimental': ['3', '2'],
  'memory-radixtree-beta': ['4', '2'],
}

const COUNTS = ['logs', 'resolvers', 'remote_logs', 'log_routers', 'commit_proxies', 'grv_proxies', 'usable_regions']
const SPECIAL = ['log_spill', 'log_engine', 'log_version', 'backup_worker_enabled', 'storage_engine']
const MIGRATION_TYPES: Readonly<Record<string, string>> = { disabled: '1', gradual: '3', aggressive: '2' }
const TENANT_MODES: Readonly<Record<string, string>> = {
  disabled: '0',
  optional_experimental: '1',
  required_experimental: '2',
}

const PROXY_WARNING =
  "Warning: Proxy role is being split into GRV Proxy and Commit Proxy, now prefer configuring 'grv_proxies' and 'commit_proxies' separately. Generally we should follow that 'commit_proxies' is three times of 'grv_proxies' count and 'grv_proxies' should be not more than 4.\n"

export interface ConfigurationWords {
  readonly changes: ReadonlyMap<string, string>
  /** Printed to stdout before the answer. */
  readonly warnings: string
  /** False: fdbcli prints its usage and exits with 1. */
  readonly valid: boolean
}

/** Reads the words after `configure`, without `new` and `FORCE`. */
export function readConfigurationWords(words: readonly string[]): ConfigurationWords {
  const changes = new Map<string, string>()
  let warnings = ''
  for (const word of words) {
    const part = readWord(word)
    warnings += part?.warnings ?? ''
    if (part?.changes === undefined) return { changes, warnings, valid: false }
    for (const [key, value] of Object.entries(part.changes)) {
      if (changes.has(key)) return { changes, warnings, valid: false }
      changes.set(key, value)
    }
  }
  return { changes, warnings, valid: words.length > 0 }
}

interface Word {
  readonly changes?: Readonly<Record<string, string>>
  readonly warnings?: string
}

function readWord(word: string): Word | undefined {
  const mode = modeKeys(word)
  if (mode !== undefined) return { changes: mode }
  const engine = ENGINES[word]
  if (engine !== undefined) return { changes: { storage_engine: engine[0], log_engine: engine[1] } }
  const special = /^(\w+):=(-?\d+)$/.exec(word)
  if (special !== null) {
    const [, key = '', value = ''] = special
    return SPECIAL.includes(key) ? { changes: { [key]: value } } : undefined
  }
  const pair = /^(\w+)=(.*)$/s.exec(word)
  return pair === null ? undefined : readPair(pair[1] ?? '', pair[2] ?? '')
}

function modeKeys(word: string): Readonly<Record<string, string>> | undefined {
  if (!Object.hasOwn(REDUNDANCY_MODES, word)) return undefined
  const { replicas, logs } = REDUNDANCY_MODES[word as RedundancyMode]
  const policy = replicationPolicy(word as RedundancyMode)
  return {
    log_anti_quorum: '0',
    log_replicas: String(logs),
    log_replication_policy: policy,
    storage_replicas: String(replicas),
    storage_replication_policy: policy,
  }
}

/** The locality that replicas spread over; default: zones. */
const SPREAD_BY: Partial<Record<RedundancyMode, string>> = { three_data_hall: 'data_hall', three_datacenter: 'dcid' }

/** The binary form of a policy in the recordings: a protocol version, then the name with its attribute and count. */
function replicationPolicy(mode: RedundancyMode): string {
  const header = '\x01\0\x01b\xb0\0\xdb\x0f'
  const text = (value: string) => `${String.fromCharCode(value.length)}\0\0\0${value}`
  const attribute = SPREAD_BY[mode] ?? 'zoneid'
  const { replicas } = REDUNDANCY_MODES[mode]
  if (replicas === 1) return `${header}${text('One')}`
  return `${header}${text('Across')}${text(attribute)}${String.fromCharCode(replicas)}\0\0\0${text('One')}`
}

function readPair(key: string, value: string): Word | undefined {
  if (key === 'proxies') return readProxies(value)
  if (key === 'regions') return { changes: { regions: regionsKey(value) } }
  if (key === 'perpetual_storage_wiggle') return readWiggle(value)
  if (key === 'perpetual_storage_wiggle_locality') return { changes: { [key]: value } }
  if (key === 'storage_migration_type') return readMigration(value)
  if (key === 'tenant_mode') {
    const mode = TENANT_MODES[value]
    return mode === undefined ? undefined : { changes: { tenant_mode: mode } }
  }
  if (key === 'blob_granules_enabled') return /^[01]$/.test(value) ? { changes: { [key]: value } } : undefined
  return COUNTS.includes(key) && /^-?\d+$/.test(value) ? { changes: { [key]: value } } : undefined
}

function readProxies(value: string): Word | undefined {
  if (!/^-?\d+$/.test(value)) return undefined
  const count = Number(value)
  if (count < 2) {
    return {
      warnings: `${PROXY_WARNING}Error: At least 2 proxies (1 GRV proxy and 1 Commit proxy) are required.\n`,
    }
  }
  const grv = Math.max(1, Math.min(4, Math.floor(count / 4)))
  const commit = count - grv
  return {
    changes: { grv_proxies: String(grv), commit_proxies: String(commit) },
    warnings: `${PROXY_WARNING}${String(count)} proxies are automatically converted into ${String(grv)} GRV proxies and ${String(commit)} Commit proxies.\n`,
  }
}

function readWiggle(value: string): Word {
  if (/^[01]$/.test(value)) return { changes: { perpetual_storage_wiggle: value } }
  return { warnings: 'Error: Only 0 and 1 are valid values of perpetual_storage_wiggle at present.\n' }
}

function readMigration(value: string): Word {
  const type = MIGRATION_TYPES[value]
  if (type !== undefined) return { changes: { storage_migration_type: type } }
  return { warnings: 'Error: Only disabled|aggressive|gradual are valid for storage_migration_type.\n' }
}

export interface Datacenter {
  readonly id: string
  readonly priority: number
  readonly satellite?: number
}
export interface Region {
  readonly datacenters: readonly Datacenter[]
}

/** Broken JSON is stored as an empty region, which counts as no region. Source: fdb-recordings 03b, 10/058. */
function regionsKey(value: string): string {
  const parsed = parseJson(value)
  return JSON.stringify({ regions: Array.isArray(parsed) ? parsed : [{}] })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function regionsOf(keys: ConfigurationKeys): readonly Region[] {
  const { regions } = JSON.parse(keys.get('regions') ?? '{"regions":[]}') as { regions: Partial<Region>[] }
  return regions.filter(
    (region): region is Region => Array.isArray(region.datacenters) && region.datacenters.length > 0,
  )
}

/** The datacenter of a region that is not a satellite, with its ID and priority. */
export function mainDatacenter({ datacenters }: Region): Datacenter | undefined {
  return datacenters.find(({ satellite }) => satellite !== 1)
}

const priorityOf = (region: Region): number => mainDatacenter(region)?.priority ?? -1

/** IDs of the main data centers that may lead, the one with the highest priority first. Empty: no regions. */
export function leadingDatacenters(keys: ConfigurationKeys): string[] {
  return regionsOf(keys)
    .flatMap((region) => mainDatacenter(region) ?? [])
    .filter(({ priority }) => priority >= 0)
    .sort((a, b) => b.priority - a.priority)
    .map(({ id }) => id)
}

export const count = (keys: ConfigurationKeys, key: string, automatic: number): number => {
  const value = Number(keys.get(key) ?? '-1')
  return value < 0 ? automatic : value
}

export function redundancyMode(keys: ConfigurationKeys): RedundancyMode {
  const found = Object.keys(REDUNDANCY_MODES).find(
    (mode) =>
      replicationPolicy(mode as RedundancyMode) === keys.get('storage_replication_policy') &&
      keys.get('log_replicas') === String(REDUNDANCY_MODES[mode as RedundancyMode].logs),
  )
  return (found ?? 'single') as RedundancyMode
}

export function engineName(keys: ConfigurationKeys): string {
  const pair = `${keys.get('storage_engine') ?? ''}/${keys.get('log_engine') ?? ''}`
  const names = Object.keys(ENGINES).filter((name) => name !== 'ssd' && name !== 'memory')
  return (
    names.find((name) => ENGINES[name]?.join('/') === pair) ??
    (keys.get('storage_engine') === '1' ? 'memory-2' : 'ssd-2')
  )
}

/** Whether a redundancy mode and an engine are there, as `configure new` requires. */
export const isComplete = (keys: ConfigurationKeys): boolean =>
  keys.has('storage_replicas') && keys.has('storage_engine')

/** Whether FoundationDB accepts these keys together. Source: fdb-recordings 10/051..059, 19. */
export function isValidConfiguration(keys: ConfigurationKeys): boolean {
  const usable = count(keys, 'usable_regions', 1)
  const regions = regionsOf(keys)
  if (keys.get('resolvers') === '0' || keys.get('usable_regions') === '0') return false
  if (usable > Math.max(1, regions.length) || usable > 2) return false
  const priorities = regions.map((region) => mainDatacenter(region)?.priority ?? -1)
  return regions.length === 0 || priorities.some((priority) => priority >= 0)
}

const nameOfValue = (table: Readonly<Record<string, string>>, value: string | undefined) =>
  Object.keys(table).find((name) => table[name] === value) ?? 'disabled'

/** `cluster.configuration` of status, without the parts that are not configuration. */
export function configurationDocument(keys: ConfigurationKeys): Record<string, unknown> {
  const known = [...COUNTS, 'log_version'].filter((key) => keys.has(key))
  const number = (key: string, missing: number) => Number(keys.get(key) ?? missing)
  const regions = regionsOf(keys)
  const proxies = ['commit_proxies', 'grv_proxies'].filter((key) => keys.has(key))
  return {
    ...Object.fromEntries(known.map((key) => [key, number(key, -1)])),
    backup_worker_enabled: number('backup_worker_enabled', 0),
    blob_granules_enabled: number('blob_granules_enabled', 0),
    log_spill: number('log_spill', 2),
    perpetual_storage_wiggle: number('perpetual_storage_wiggle', 0),
    perpetual_storage_wiggle_engine: 'none',
    perpetual_storage_wiggle_locality: keys.get('perpetual_storage_wiggle_locality') ?? '0',
    ...(proxies.length > 0 && { proxies: proxies.reduce((sum, key) => sum + Math.max(1, number(key, 1)), 0) }),
    redundancy_mode: redundancyMode(keys),
    ...(regions.length > 0 && { regions: [...regions].sort((a, b) => priorityOf(b) - priorityOf(a)) }),
    storage_engine: engineName(keys),
    storage_migration_type: nameOfValue(MIGRATION_TYPES, keys.get('storage_migration_type')),
    tenant_mode: nameOfValue(TENANT_MODES, keys.get('tenant_mode')),
    usable_regions: number('usable_regions', 1),
  }
}
