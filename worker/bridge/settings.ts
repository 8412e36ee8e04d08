// The settings of the bridge, from flags and environment. A wrong value ends the process with a message that has the actual and the expected value.

import type { Config } from '../server/config.ts'
import { type FlagTable, type GivenFlags, joinFlagTables, readFlags } from '../server/flags.ts'
import { HEALTH_FLAGS, healthSettings, type HealthSettings } from '../server/health-report.ts'
import { newLeaseOwner, readSharedSettings, type SharedSettings } from '../server/shared-settings.ts'
import { SWITCH_FLAGS } from '../server/registry.ts'
import { DEFAULT_WINGS_TEXT, readWingFlags } from '../server/wings.ts'

export interface ReflectorSettings {
  /** The lease duration of leader election; it is renewed three times as often. */
  readonly leaseMs: number
  /** Objects per page of a list. Source: spec/engine.md 2.4. */
  readonly pageLimit: number
  /** Events per transaction. */
  readonly batchLimit: number
  /** Events read but not yet journaled; further events stay in the connection (back-pressure). */
  readonly pendingLimit: number
  /** The server ends a watch after a random time in this range, so that reconnects are spread. Source: spec/engine.md 2.4. */
  readonly watchSeconds: readonly [number, number]
  /** A connection without a byte for this long counts as dead; the server sends a bookmark about every minute. Source: spec/engine.md 2.4. */
  readonly watchdogMs: number
  /**
   * The longest time between two lists of a kind. According to Kubernetes a watch is complete, but servers have lost events (etcd #15271), and only a list
   * shows that. Source: docs/adr/0037.
   */
  readonly relistMs: number
  readonly backoffMs: { readonly first: number; readonly longest: number }
  /** The longest time that a watch event waits for the answer of the write that caused it. Source: docs/concepts/architecture.md "Own writes". */
  readonly holdMs: number
  /** How often held events are examined again, unless an event on another object arrives. */
  readonly holdPollMs: number
}

export const DEFAULT_REFLECTOR_SETTINGS: ReflectorSettings = {
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

const { leaseMs, watchdogMs, holdMs, relistMs } = DEFAULT_REFLECTOR_SETTINGS

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
    default: DEFAULT_WINGS_TEXT,
    text: 'follow the kinds of these wings, such as landscaper,chaos, or none',
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
    text: 'key of content hashes; created if it is missing',
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
    // Long enough to explain the events of last week; object rows stay for ever.
    otherwise: 14,
  },
  'lease-ms': {
    takes: '<ms>',
    reads: 'number',
    least: 100,
    otherwise: leaseMs,
    text: 'lease of a bridge for a kind',
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
    text: 'the maximum time between two lists of a kind, which find events that a watch missed',
  },
  'hold-ms': {
    takes: '<ms>',
    reads: 'number',
    least: 0,
    otherwise: holdMs,
    text: 'how long an event waits for the response to the write that caused it',
  },
  ...HEALTH_FLAGS,
} as const satisfies FlagTable

/** The bridge's own flags, then the flags of wings that enable controllers. */
export const BRIDGE_FLAGS: FlagTable = joinFlagTables(OWN_FLAGS, SWITCH_FLAGS)

export interface BridgeSettings extends SharedSettings {
  /** The only watched namespace; undefined: all. A journal has one choice per `cluster` name. */
  readonly namespace: string | undefined
  readonly retentionMs: number
  readonly owner: string
  readonly reflector: ReflectorSettings
  /** Undefined: the bridge does not report its health. */
  readonly health: HealthSettings | undefined
}

const DAY_MS = 24 * 60 * 60 * 1000

/** @throws with the name of the flag, the actual value and the expected value. */
export function bridgeSettings(given: GivenFlags, config: Config): BridgeSettings {
  const flags = readFlags(OWN_FLAGS, given)
  const surroundings = readSharedSettings(flags, given, config, 'a file; it is created if it is missing')
  readWingFlags(surroundings.wings, given)
  return {
    ...surroundings,
    health: healthSettings(flags, surroundings.wings),
    namespace: checkedNamespace(flags.namespace),
    retentionMs: flags['retention-days'] * DAY_MS,
    owner: newLeaseOwner(),
    reflector: {
      ...DEFAULT_REFLECTOR_SETTINGS,
      leaseMs: flags['lease-ms'],
      watchdogMs: flags['watchdog-ms'],
      holdMs: flags['hold-ms'],
      relistMs: flags['relist-ms'],
    },
  }
}

// Source: RFC 1123 labels, as Kubernetes requires for namespaces.
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

function checkedNamespace(namespace: string | undefined): string | undefined {
  if (namespace === undefined || NAMESPACE.test(namespace)) return namespace
  throw new Error(`--namespace: found "${namespace}"; expected the name of one namespace`)
}
