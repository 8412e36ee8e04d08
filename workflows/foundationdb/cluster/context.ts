// The state that the steps of one pass over a cluster share: settings, status draft, observed objects and the status of the database.
//
//   C1. The status of the database is read at most once per pass, and only if a step needs it.
//   C2. After an action that causes a recovery, the status counts as just recovered, so later steps of the pass do not disturb the database further.
//   C3. A step that depends on a saved field saves it itself; the end of the pass saves all others.

import type { DatabaseStatus } from '../../../activities/foundationdb/database/status.ts'
import { type ClusterSettings, clusterSettings } from '../model/cluster-settings.ts'
import { type RecoveryWaits, recoveryWaitsIn } from '../recovery-waits.ts'
import { podName } from '../model/process-group-id.ts'
import type { BlockedStep } from '../progress.ts'
import { isProtocolCompatible } from '../model/version.ts'
import { type DatabaseCalls, databaseCalls } from './database-calls.ts'
import type { ClusterStatus, ProcessGroupStatus } from './kind.ts'
import type { ObservedClaim, ObservedConfigMap, ObservedPod, ObservedService, TaintedNode } from './observed.ts'
import type { ClusterPass } from './pass.ts'
import type { Moment } from './process-groups.ts'

export interface ClusterContext {
  readonly pass: ClusterPass
  readonly settings: ClusterSettings
  readonly now: Moment
  readonly waits: RecoveryWaits
  readonly calls: DatabaseCalls
  /** With the changes of this pass. Change it by `updateStatus`. */
  status: ClusterStatus
  /** Observed objects without those that this pass deleted, and with those that it created. */
  pods: readonly ObservedPod[]
  claims: readonly ObservedClaim[]
  services: readonly ObservedService[]
  configMap: ObservedConfigMap | undefined
  /** C1 */
  database: Promise<DatabaseReading> | undefined
  /** Undefined until UpdateStatus reads them; only clusters with options for taints need them. */
  taintedNodes: readonly TaintedNode[] | undefined
  readonly blocked: BlockedStep[]
  /** By version and process group: several steps compare them. */
  readonly specHashes: Map<string, string>
  /** Whether this pass took the lock. */
  hasLock: boolean
}

/** `unknown`: there is no database yet. */
export type DatabaseReading =
  { readonly status: DatabaseStatus } | { readonly problem: string } | { readonly unknown: true }

const CONTEXTS = new WeakMap<ClusterPass, ClusterContext>()

export function contextOf(pass: ClusterPass): ClusterContext {
  const found = CONTEXTS.get(pass)
  if (found !== undefined) return found
  const { pods, claims, services, configMap } = pass.state
  const context: ClusterContext = {
    pass,
    settings: clusterSettings(pass.target),
    now: momentOf(pass.latest),
    waits: recoveryWaitsIn(pass.settings),
    calls: pass.call(databaseCalls),
    status: pass.target.status ?? {},
    pods,
    claims,
    services,
    configMap,
    database: undefined,
    taintedNodes: undefined,
    blocked: [],
    specHashes: new Map(),
    hasLock: false,
  }
  CONTEXTS.set(pass, context)
  return context
}

export function momentOf(date: Date): Moment {
  return {
    seconds: Math.floor(date.getTime() / 1000),
    text: date.toISOString().replace(/\.\d+Z$/, 'Z'),
  }
}

type StatusChange = { readonly [Field in keyof ClusterStatus]?: ClusterStatus[Field] | undefined }

/** Changes fields of the status; undefined removes a field. */
export function updateStatus(context: ClusterContext, change: StatusChange): void {
  context.status = { ...context.status, ...change } as ClusterStatus
  const draft = context.pass.status as Record<string, unknown>
  for (const [field, value] of Object.entries(change)) draft[field] = value ?? null
}

export function processGroupsIn({ status }: Pick<ClusterContext, 'status'>): readonly ProcessGroupStatus[] {
  return status.processGroups ?? []
}

/** Large clusters have hundreds of objects, so no step searches a list for each process group. */
export function byName<Found extends { readonly metadata: { readonly name: string } }>(
  objects: readonly Found[],
): ReadonlyMap<string, Found> {
  return new Map(objects.map((object) => [object.metadata.name, object]))
}

/** Pods by the ID of their process group. */
export function podsByGroup(context: ClusterContext): ReadonlyMap<string, ObservedPod> {
  const pods = byName(context.pods)
  return new Map(
    processGroupsIn(context).flatMap(({ processGroupID: id }) => {
      const pod = pods.get(podName(context.settings.name, id))
      return pod === undefined ? [] : [[id, pod] as const]
    }),
  )
}

/** Replaces process groups by the result of `change`; undefined removes one. */
export function changeProcessGroups(
  context: ClusterContext,
  change: (group: ProcessGroupStatus) => ProcessGroupStatus | undefined,
): void {
  const processGroups = processGroupsIn(context).flatMap((group) => change(group) ?? [])
  updateStatus(context, { processGroups })
}

/** The connection string: of the status, or of the spec for a cluster that joins a database. */
export function connectionStringOf({
  status,
  settings,
}: Pick<ClusterContext, 'status' | 'settings'>): string | undefined {
  const { connectionString = '' } = status
  const known = connectionString === '' ? (settings.spec.seedConnectionString ?? '') : connectionString
  return known === '' ? undefined : known
}

/** The database of calls; undefined without a connection string. */
export function databaseAddress(
  context: ClusterContext,
): { readonly connectionString: string; readonly version: string } | undefined {
  const connectionString = connectionStringOf(context)
  const { runningVersion = '' } = context.status
  const version = runningVersion === '' ? context.settings.version : runningVersion
  return connectionString === undefined ? undefined : { connectionString, version }
}

/** C1 */
export async function readDatabase(context: ClusterContext): Promise<DatabaseReading> {
  context.database ??= readOnce(context)
  return await context.database
}

async function readOnce(context: ClusterContext): Promise<DatabaseReading> {
  const address = databaseAddress(context)
  if (address === undefined || isNew(context)) return { unknown: true }
  const reading = await readWith(context, address)
  const { version } = context.settings
  if (isAvailable(reading) || isProtocolCompatible(address.version, version)) return reading
  if (context.status.configured !== true || !(await context.calls.isVersionSupported({ version }))) return reading
  // After the restart of an upgrade, only the tools of the new version can read the database.
  const other = await readWith(context, { ...address, version })
  return isAvailable(other) ? other : reading
}

async function readWith(
  { calls }: ClusterContext,
  address: { readonly connectionString: string; readonly version: string },
): Promise<DatabaseReading> {
  const result = await calls.readStatus(address)
  return 'value' in result ? { status: result.value } : { problem: result.failure.message }
}

function isAvailable(reading: DatabaseReading): boolean {
  return 'status' in reading && reading.status.isAvailable
}

/**
 * Whether this controller has to create the database and has not tried yet. A database without configuration needs 9 s to report that, and no step needs
 * the report before the first try.
 */
export function isNew({ settings, status }: ClusterContext): boolean {
  const { seedConnectionString = '' } = settings.spec
  return status.configured === undefined && settings.automation.configureDatabase && seedConnectionString === ''
}

/** The status of the database, if it is available. */
export async function availableDatabase(context: ClusterContext): Promise<DatabaseStatus | undefined> {
  const reading = await readDatabase(context)
  return 'status' in reading && reading.status.isAvailable ? reading.status : undefined
}

/** C2 */
export async function noteRecovery(context: ClusterContext): Promise<void> {
  const reading = await readDatabase(context)
  if (!('status' in reading)) return
  const { status } = reading
  context.database = Promise.resolve({ status: { ...status, recovery: { ...status.recovery, secondsSince: 0 } } })
}

export function normalEvent(context: ClusterContext, reason: string, message: string): Promise<void> {
  return context.pass.act.event({ type: 'Normal', reason, message })
}
