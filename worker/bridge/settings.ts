// The bridge's settings, from flags and environment; wrong ones end the process with what was found and what was expected.

import type { Config } from '../server/config.ts'
import { type FlagTable, type GivenFlags, joinTables, readFlags } from '../server/flags.ts'
import { HEALTH_FLAGS, healthSettings, type HealthSettings } from '../server/health-report.ts'
import { newOwner, readSurroundings, type Surroundings } from '../server/shared-settings.ts'
import { SWITCH_FLAGS } from '../server/registry.ts'
import { readWingFlags } from '../server/wings.ts'

export interface BridgeSettings {
  /** How long a reflector that fell silent keeps its kind; it renews three times as often. */
  readonly leaseMs: number
  /** Objects per page of a list. Source: spec/engine.md 2.4. */
  readonly pageLimit: number
  /** Events per transaction. */
  readonly batchLimit: number
  /** Events read but not yet journaled; more stay in the connection (back-pressure). */
  readonly pendingLimit: number
  /** The server ends a watch after a random time in between, so that not all reconnect together. Source: spec/engine.md 2.4. */
  readonly watchSeconds: readonly [number, number]
  /** Without a byte for this long the connection counts as dead; the server sends a bookmark about every minute. Source: spec/engine.md 2.4. */
  readonly watchdogMs: number
  /**
   * The longest time between two lists of a kind. A watch that goes on tells everything, says Kubernetes; servers have left events out all the same
   * (etcd #15271), and only a list shows what was lost. Source: docs/adr/0037.
   */
  readonly relistMs: number
  readonly backoffMs: { readonly first: number; readonly longest: number }
  /** How long a watch event waits at most for the answer of the write that caused it. Source: docs/architecture.md "Own writes". */
  readonly holdMs: number
  /** How often held events are looked at again, unless one comes that is not. */
  readonly holdPollMs: number
}

export const DEFAULT_SETTINGS: BridgeSettings = {
  leaseMs: 5000,
  pageLimit: 500,
  batchLimit: 500,
  pendingLimit: 1000,
  watchSeconds: [300, 600],
  watchdogMs: 75_000,
  relistMs: 3_600_000,
  backoffMs: { first: 100, longest: 10_000 },
  holdMs: 1000,
  holdPollMs: 100,
}

const { leaseMs, watchdogMs, holdMs, relistMs } = DEFAULT_SETTINGS

const OWN_FLAGS = {
  kubeconfig: {
    takes: '<file>',
    reads: 'text',
    text: 'the cluster to watch',
    default: '$KUBECONFIG, else in-cluster or the usual file',
  },
  'database-url': { takes: '<url>', reads: 'text', text: 'PostgreSQL of the journal', default: '$PAWL_DATABASE_URL' },
  cluster: { takes: '<name>', reads: 'text', text: 'name of the cluster in the journal', otherwise: 'local' },
  wings: {
    takes: '<names>',
    reads: 'text',
    default: 'all',
    text: 'follow the kinds of these wings only, such as landscaper, or none',
  },
  controllers: {
    takes: '<files>',
    reads: 'text',
    text: 'modules of controllers in level mode, separated by commas: their kinds are followed too',
  },
  namespace: { takes: '<name>', reads: 'text', text: 'follow one namespace only', default: 'all' },
  'content-key': {
    takes: '<file>',
    reads: 'text',
    text: 'key of content hashes, made when missing',
    default: '$PAWL_CONTENT_KEY',
  },
  'health-host': {
    takes: '<address>',
    reads: 'text',
    text: 'where /healthz and /readyz are served',
    otherwise: '127.0.0.1',
  },
  'health-port': {
    takes: '<port>',
    reads: 'number',
    least: 0,
    otherwise: 0,
    text: 'their port',
    default: 'a free one, logged',
  },
  'retention-days': {
    takes: '<days>',
    reads: 'number',
    least: 1,
    text: 'how long events are kept',
    // Long enough to explain what happened last week; the object rows stay for ever.
    otherwise: 14,
  },
  'lease-ms': {
    takes: '<ms>',
    reads: 'number',
    least: 100,
    otherwise: leaseMs,
    text: 'how long a silent bridge keeps its kinds from others',
  },
  'watchdog-ms': {
    takes: '<ms>',
    reads: 'number',
    least: 100,
    otherwise: watchdogMs,
    text: 'a watch without a byte for this long is dead',
  },
  'relist-ms': {
    takes: '<ms>',
    reads: 'number',
    least: 1000,
    otherwise: relistMs,
    text: 'the longest time between two lists of a kind, which show what a watch has left out',
  },
  'hold-ms': {
    takes: '<ms>',
    reads: 'number',
    least: 0,
    otherwise: holdMs,
    text: 'how long an event waits for the answer of the write that caused it',
  },
  ...HEALTH_FLAGS,
} as const satisfies FlagTable

/** The bridge's own flags, then those of wings that say which controllers there are. */
export const BRIDGE_FLAGS: FlagTable = joinTables(OWN_FLAGS, SWITCH_FLAGS)

export interface ProcessSettings extends Surroundings {
  /** The only namespace to follow; undefined = all. A journal holds one choice: another namespace needs another `cluster` name. */
  readonly namespace: string | undefined
  readonly retentionMs: number
  readonly owner: string
  readonly reflector: BridgeSettings
  /** Undefined: nobody is told. */
  readonly health: HealthSettings | undefined
}

const DAY_MS = 24 * 60 * 60 * 1000

/** @throws with the name of the flag, what was found and what was expected. */
export function processSettings(given: GivenFlags, config: Config): ProcessSettings {
  const flags = readFlags(OWN_FLAGS, given)
  const surroundings = readSurroundings(flags, given, config, 'a file, made when missing')
  readWingFlags(surroundings.wings, given)
  return {
    ...surroundings,
    health: healthSettings(flags, surroundings.wings),
    namespace: checkedNamespace(flags.namespace),
    retentionMs: flags['retention-days'] * DAY_MS,
    owner: newOwner(),
    reflector: {
      ...DEFAULT_SETTINGS,
      leaseMs: flags['lease-ms'],
      watchdogMs: flags['watchdog-ms'],
      holdMs: flags['hold-ms'],
      relistMs: flags['relist-ms'],
    },
  }
}

// Source: RFC 1123 labels, as Kubernetes demands of namespaces.
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

function checkedNamespace(namespace: string | undefined): string | undefined {
  if (namespace === undefined || NAMESPACE.test(namespace)) return namespace
  throw new Error(`--namespace is "${namespace}"; expected the name of one namespace`)
}
