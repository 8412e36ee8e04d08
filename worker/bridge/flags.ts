// The bridge's settings, from flags and environment; wrong ones end the process with what was found and what was expected.

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Config } from '../server/config.ts'
import { controllerFiles } from '../server/registry.ts'
import { type BridgeSettings, DEFAULT_SETTINGS } from './settings.ts'

export type Flags = Readonly<Record<string, string | undefined>>

/** The flags of the bridge: name, what it takes, and what it means. Also its help, and checked against docs/operating.md. */
export const BRIDGE_FLAGS: Readonly<Record<string, readonly [value: string, text: string]>> = {
  kubeconfig: ['<file>', 'the cluster to watch (default: $KUBECONFIG, else in-cluster or the usual file)'],
  'database-url': ['<url>', 'PostgreSQL of the journal (default: $PAWL_DATABASE_URL)'],
  cluster: ['<name>', 'name of the cluster in the journal (default: local)'],
  controllers: ['<files>', 'modules of controllers in level mode, separated by commas: their kinds are followed too'],
  namespace: ['<name>', 'follow one namespace only (default: all)'],
  'content-key': ['<file>', 'key of content hashes, made when missing (default: $PAWL_CONTENT_KEY)'],
  'health-host': ['<address>', 'where /healthz and /readyz are served (default: 127.0.0.1)'],
  'health-port': ['<port>', 'their port (default: a free one, logged)'],
  'retention-days': ['<days>', 'how long events are kept (default: 14)'],
  'lease-ms': ['<ms>', 'how long a silent bridge keeps its kinds from others (default: 5000)'],
  'watchdog-ms': ['<ms>', 'a watch without a byte for this long is dead (default: 75000)'],
  'hold-ms': ['<ms>', 'how long an event waits for the answer of the write that caused it (default: 1000)'],
}

export interface ProcessSettings {
  /** Undefined: in the cluster. */
  readonly kubeconfigPath: string | undefined
  readonly databaseUrl: string
  readonly cluster: string
  /** The only namespace to follow; undefined = all. A journal holds one choice: another namespace needs another `cluster` name. */
  readonly namespace: string | undefined
  /** Absolute paths of modules that export `controllers`. */
  readonly controllerFiles: readonly string[]
  readonly contentKeyPath: string | undefined
  readonly healthHost: string
  readonly healthPort: number
  readonly retentionMs: number
  /** Another one at each start: a process that hangs must not share a lease with its successor. */
  readonly owner: string
  readonly reflector: BridgeSettings
}

const DAY_MS = 24 * 60 * 60 * 1000
// Long enough to explain what happened last week; the object rows stay for ever.
const RETENTION_DAYS = 14

/** @throws with the name of the flag, what was found and what was expected. */
export function processSettings(flags: Flags, config: Config): ProcessSettings {
  const databaseUrl = flags['database-url'] ?? config.databaseUrl
  if (databaseUrl === undefined) {
    throw new Error('--database-url is missing; expected the URL of a PostgreSQL database, or $PAWL_DATABASE_URL')
  }
  const contentKeyPath = flags['content-key'] ?? config.contentKeyPath
  // Of their kinds the journal remembers a hash; without a key no change would be seen.
  if (flags['controllers'] !== undefined && contentKeyPath === undefined)
    throw new Error('--content-key is missing beside --controllers; expected a file, made when missing')
  const { leaseMs, watchdogMs, holdMs } = DEFAULT_SETTINGS
  return {
    kubeconfigPath: flags['kubeconfig'] ?? config.kubeconfig,
    databaseUrl,
    cluster: flags['cluster'] ?? 'local',
    namespace: namespaceOf(flags),
    controllerFiles: controllerFiles(flags['controllers']),
    contentKeyPath,
    healthHost: flags['health-host'] ?? '127.0.0.1',
    healthPort: count(flags, 'health-port', 0, 0),
    retentionMs: count(flags, 'retention-days', RETENTION_DAYS, 1) * DAY_MS,
    owner: `${hostname()}/${process.pid}/${randomUUID()}`,
    reflector: {
      ...DEFAULT_SETTINGS,
      leaseMs: count(flags, 'lease-ms', leaseMs, 100),
      watchdogMs: count(flags, 'watchdog-ms', watchdogMs, 100),
      holdMs: count(flags, 'hold-ms', holdMs, 0),
    },
  }
}

// Source: RFC 1123 labels, as Kubernetes demands of namespaces.
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

function namespaceOf({ namespace }: Flags): string | undefined {
  if (namespace === undefined || NAMESPACE.test(namespace)) return namespace
  throw new Error(`--namespace is "${namespace}", expected the name of one namespace`)
}

function count(flags: Flags, name: string, otherwise: number, least: number): number {
  const text = flags[name]
  if (text === undefined) return otherwise
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new Error(`--${name} is "${text}", expected a whole number of at least ${least}`)
}
