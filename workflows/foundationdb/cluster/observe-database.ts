// The fields of a cluster's status that derive from the status of its database. Source: spec/foundationdb.md 2.1.
//
//   O1. `configured` is never set back. It becomes true when the available database has a configuration.
//   O2. Without a readable database, only `health` changes.

import type { DatabaseStatus } from '../../../activities/foundationdb/database/status.ts'
import { checkCoordinators } from '../database/coordinators.ts'
import { parseAddress } from '../database/process-address.ts'
import { desiredConfiguration, isSameConfiguration, liveConfiguration } from '../database/configure-string.ts'
import { wantsTls } from '../model/cluster-settings.ts'
import { compareVersions } from '../model/version.ts'
import { type ClusterContext, normalEvent, readDatabase, updateStatus } from './context.ts'
import { coordinatorRules } from './coordinator-rules.ts'
import { ROLES, type DatabaseConfiguration } from './schema/database.ts'

/** The status of the database; undefined if the status cannot be read or the database does not exist. */
export async function observeDatabase(context: ClusterContext): Promise<DatabaseStatus | undefined> {
  const reading = await readDatabase(context)
  if (!('status' in reading)) {
    const { health = {} } = context.status
    updateStatus(context, {
      health: { ...health, available: false, healthy: false },
      requiredAddresses: kindsOf(context, []),
    })
    observeVersion(context, [])
    return undefined
  }
  const { status } = reading
  await observeConnectionString(context, status)
  updateStatus(context, {
    health: {
      available: status.isAvailable,
      healthy: status.data.isHealthy === true,
      fullReplication: status.hasFullReplication,
      dataMovementPriority: status.data.highestPriority ?? 0,
    },
    requiredAddresses: kindsOf(context, status.coordinators),
    // O1
    ...(status.isAvailable && status.isUnconfigured === false && { configured: true }),
    ...(status.isAvailable && status.configuration !== undefined && { databaseConfiguration: knownFields(status) }),
    ...(status.isAvailable && { needsNewCoordinators: needsNewCoordinators(context, status) }),
  })
  observeVersion(
    context,
    status.processes.map(({ version }) => version),
  )
  return status
}

/** Whether the database has the desired configuration; also while this is unknown. */
export function hasCurrentConfiguration({ settings }: ClusterContext, status: DatabaseStatus | undefined): boolean {
  if (status?.isAvailable !== true || status.configuration === undefined) return true
  const desired = desiredConfiguration(settings.spec.databaseConfiguration ?? {})
  return isSameConfiguration(liveConfiguration(status.configuration, desired), desired)
}

async function observeConnectionString(context: ClusterContext, { connectionString }: DatabaseStatus): Promise<void> {
  if (connectionString === undefined || connectionString === context.status.connectionString) return
  await normalEvent(context, 'UpdatingConnectionString', `Setting connection string to ${connectionString}`)
  updateStatus(context, { connectionString })
  await context.pass.save()
}

function needsNewCoordinators(context: ClusterContext, { coordinators, processes }: DatabaseStatus): boolean {
  return checkCoordinators(coordinators, processes, coordinatorRules(context)).problems.length > 0
}

/** The kinds of addresses that the spec wants and the coordinators have. */
function kindsOf({ settings }: ClusterContext, coordinators: DatabaseStatus['coordinators']) {
  const isTls = wantsTls(settings)
  const kinds = coordinators.map(({ address }) => parseAddress(address)?.isTls ?? false)
  return { tls: isTls || kinds.includes(true), nonTLS: !isTls || kinds.includes(false) }
}

/** The version of most processes, the newer one on a tie. */
function observeVersion(context: ClusterContext, versions: readonly string[]): void {
  const { runningVersion = '' } = context.status
  const counts = new Map<string, number>()
  for (const version of versions) if (version !== '') counts.set(version, (counts.get(version) ?? 0) + 1)
  const [most] = [...counts].sort(([one, first], [other, second]) => second - first || compareVersions(other, one))
  const before = runningVersion === '' ? context.settings.version : runningVersion
  updateStatus(context, { runningVersion: most?.[0] ?? before })
}

const FIELDS: ReadonlySet<string> = new Set([
  ...['redundancy_mode', 'storage_engine', 'usable_regions', 'regions', ...ROLES, 'log_spill'],
  ...['storage_migration_type', 'perpetual_storage_wiggle', 'perpetual_storage_wiggle_locality'],
  ...['perpetual_storage_wiggle_engine'],
])

/** The database reports further fields, which the kind does not have. */
function knownFields({ configuration = {} }: DatabaseStatus): DatabaseConfiguration {
  return Object.fromEntries(Object.entries(configuration).filter(([name]) => FIELDS.has(name)))
}
