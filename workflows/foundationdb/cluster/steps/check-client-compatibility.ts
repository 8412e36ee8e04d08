// Step 4. Blocks an upgrade to another protocol while clients of the database do not support it. Source:
// seeds/foundationdb-operator-technical-design.txt CheckClientCompatibility; spec/foundationdb.md 2.4, 8.3.

import type { DatabaseStatus } from '../../../../activities/foundationdb/database/status.ts'
import { downgradeProblem, isProtocolCompatible } from '../../model/version.ts'
import { clusterStep } from '../cluster-step.ts'
import { type ClusterContext, availableDatabase } from '../context.ts'
import { processGroupsIn } from '../context.ts'
import { hostsOf } from '../exclusion-targets.ts'
import { failWith, stopFor, withEvent } from '../requeue.ts'

const CLIENT_DELAY_MS = 60_000
const MOST_NAMED = 5

export const checkClientCompatibility = clusterStep('CheckClientCompatibility', async (context) => {
  const { settings, status } = context
  const { version } = settings
  const { runningVersion: running = '', configured } = status
  if (configured !== true || running === '' || running === version) return undefined
  const problem = downgradeProblem(running, version, settings.automation.allowPatchDowngrade)
  if (problem !== undefined) return stopFor(problem, CLIENT_DELAY_MS)
  if (isProtocolCompatible(running, version) || settings.spec.ignoreUpgradabilityChecks === true) return undefined
  if (!(await context.calls.isVersionSupported({ version })))
    return failWith(`version ${version}: its tools are missing; install fdbcli ${version} for the worker`)
  const database = await availableDatabase(context)
  if (database === undefined) return stopFor('the database is unavailable; its clients cannot be checked')
  const protocol = await context.calls.protocolOfVersion({ version })
  const clients = unsupportedClients(context, database, protocol)
  if (clients.length === 0) return undefined
  const named = clients.slice(0, MOST_NAMED).join(', ')
  const count = clients.length === 1 ? '1 client does' : `${clients.length} clients do`
  const message = `${count} not support version ${version}: ${named}`
  return withEvent('UnsupportedClient', stopFor(message, CLIENT_DELAY_MS))
})

/** Descriptions of clients whose newest protocol differs. Processes of the cluster itself do not count. */
function unsupportedClients(context: ClusterContext, { clients }: DatabaseStatus, protocol: string): readonly string[] {
  const ignored = new Set(context.settings.automation.ignoreLogGroupsForUpgrade)
  const own = new Set(processGroupsIn(context).flatMap(hostsOf))
  return clients
    .filter(({ protocolVersion }) => protocolVersion !== protocol && !/^unknown$/i.test(protocolVersion))
    .flatMap((version) =>
      version.clients
        .filter(({ address, logGroup }) => !ignored.has(logGroup) && !own.has(address.replace(/:\d+(?::tls)?$/, '')))
        .map(({ address, logGroup }) => `${address} (${version.clientVersion}, log group ${logGroup})`),
    )
}
