// The two files of a Temporal server: its static configuration and its dynamic configuration. Pure.
//
//   T1. The files contain no password; the server inserts it from its environment (`enable-template`).
//   T2. Every setting that differs from Temporal's default states its reason, because measurements refer to these
//       files.

import type { Ports } from './ports.ts'

/** The databases of the server; `schema` is the schema tool's name for their schema. */
export const TEMPORAL_DATABASES = [
  { database: 'temporal', schema: 'postgresql/v12/temporal' },
  { database: 'temporal_visibility', schema: 'postgresql/v12/visibility' },
] as const

/** The driver pgx, which prepares each statement once per connection. */
export const SQL_PLUGIN = 'postgres12_pgx'

/** The environment variable with PostgreSQL's password. */
export const PASSWORD_VARIABLE = 'PAWL_TEMPORAL_SQL_PASSWORD'

/** The address of PostgreSQL, without the password. */
export interface SqlStore {
  readonly host: string
  readonly port: number
  readonly user: string
}

export type TemporalPorts = Pick<
  Ports,
  | 'temporal'
  | 'temporalHistory'
  | 'temporalMatching'
  | 'temporalInternal'
  | 'temporalFrontendRing'
  | 'temporalHistoryRing'
  | 'temporalMatchingRing'
  | 'temporalInternalRing'
>

/** All four services in one process on the loopback address; `settingsPath` is the path of `dynamicConfig`. */
export function serverConfig(store: SqlStore, ports: TemporalPorts, settingsPath: string): string {
  const frontend = `127.0.0.1:${ports.temporal}`
  return `# enable-template
# Written anew at each start of pawl dev.
log:
  stdout: true
  format: json
  # info is several lines per task queue and shard.
  level: warn

persistence:
  defaultStore: main
  visibilityStore: visibility
  # Fixed by the first start for the life of the database. Each shard writes its executions one after another and has
  # queue readers of its own: as few as keep two cores busy.
  numHistoryShards: 4
  datastores:
    # Each of the four services has connections of its own: 4 x (20 + 5) of the 300 that PostgreSQL has for all.
    main:
${database(store, 'temporal', 20)}
    visibility:
${database(store, 'temporal_visibility', 5)}

global:
  membership:
    # The services find each other here; only this machine takes part.
    broadcastAddress: 127.0.0.1
    maxJoinDuration: 30s

services:
${service('frontend', ports.temporal, ports.temporalFrontendRing)}
${service('history', ports.temporalHistory, ports.temporalHistoryRing)}
${service('matching', ports.temporalMatching, ports.temporalMatchingRing)}
${service('worker', ports.temporalInternal, ports.temporalInternalRing)}

publicClient:
  hostPort: ${frontend}

clusterMetadata:
  enableGlobalNamespace: false
  failoverVersionIncrement: 10
  masterClusterName: active
  currentClusterName: active
  clusterInformation:
    active: { enabled: true, initialFailoverVersion: 1, rpcName: frontend, rpcAddress: "${frontend}" }

dcRedirectionPolicy:
  policy: noop

archival:
  history: { state: disabled }
  visibility: { state: disabled }

dynamicConfigClient:
  filepath: ${JSON.stringify(settingsPath)}
  # A setting that is changed in the file holds this much later, without a restart.
  pollInterval: 10s
`
}

function database({ host, port, user }: SqlStore, name: string, connections: number): string {
  return `      sql:
        pluginName: ${SQL_PLUGIN}
        databaseName: ${name}
        connectProtocol: tcp
        connectAddr: ${JSON.stringify(`${host}:${port}`)}
        user: ${JSON.stringify(user)}
        password: {{ env "${PASSWORD_VARIABLE}" | toJson }}
        maxConns: ${connections}
        maxIdleConns: ${connections}
        maxConnLifetime: 1h`
}

function service(name: string, grpcPort: number, membershipPort: number): string {
  return `  ${name}:\n    rpc: { grpcPort: ${grpcPort}, membershipPort: ${membershipPort}, bindOnLocalHost: true }`
}

interface Setting {
  readonly key: string
  readonly value: number | boolean
  readonly why: string
}

const ONE_PARTITION = 'one machine has nothing to spread; with four, tasks wait for a poller of another partition'
const NO_SCAN = 'scans whole tables for old data, which would disturb measurements'

/** Settings that differ from the defaults of Temporal 1.29. */
export const SETTINGS: readonly Setting[] = [
  { key: 'matching.numTaskqueueReadPartitions', value: 1, why: ONE_PARTITION },
  { key: 'matching.numTaskqueueWritePartitions', value: 1, why: ONE_PARTITION },
  { key: 'history.hostLevelCacheMaxSize', value: 8192, why: 'runs kept in memory; 128000 may take a gigabyte' },
  {
    key: 'frontend.namespaceRPS.visibility',
    value: 100,
    why: 'as in the development server; 10 is too few to look around',
  },
  { key: 'limit.maxIDLength', value: 255, why: 'what the columns hold; a longer ID is refused, not an SQL error' },
  { key: 'worker.historyScannerEnabled', value: false, why: NO_SCAN },
  { key: 'worker.taskQueueScannerEnabled', value: false, why: NO_SCAN },
  { key: 'frontend.enableServerVersionCheck', value: false, why: 'asks a host on the internet for newer versions' },
]

/** The settings in the server's format. */
export function dynamicConfig(): string {
  return SETTINGS.map(({ key, value, why }) => `# ${why}\n${key}:\n  - value: ${value}\n`).join('\n')
}
