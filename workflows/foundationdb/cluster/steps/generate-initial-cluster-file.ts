// Step 12. Chooses the first coordinators from the running Pods, and stores the connection string. Source:
// seeds/foundationdb-operator-technical-design.txt GenerateInitialClusterFile; spec/foundationdb.md 2.12.

import { connectionIDFrom, descriptionFor, formatConnectionString } from '../../database/connection-string.ts'
import { chooseCoordinators, type CoordinatorCandidate } from '../../database/coordinators.ts'
import { addressesOf as processAddresses, formatAddress } from '../../database/process-address.ts'
import { wantsTls } from '../../model/cluster-settings.ts'
import { coordinatorCount } from '../../model/process-counts.ts'
import { clusterStep } from '../cluster-step.ts'
import { type ClusterContext, normalEvent, podsByGroup, processGroupsIn, updateStatus } from '../context.ts'
import { isRunning, type ObservedPod, substitutionsOf } from '../observed.ts'
import { isMarked } from '../process-groups.ts'
import { NO_DELAY_MS, stopFor } from '../requeue.ts'

/** `three_data_hall` begins with one coordinator per data hall. */
const FIRST_COORDINATORS_IN_HALLS = 3

export const generateInitialClusterFile = clusterStep('GenerateInitialClusterFile', async (context) => {
  const { settings, status } = context
  if ((status.connectionString ?? '') !== '') return undefined
  const { seedConnectionString = '' } = settings.spec
  if (seedConnectionString !== '') return await store(context, seedConnectionString)
  const candidates = candidatesIn(context)
  const count = firstCount(context)
  if (candidates.length < count)
    return stopFor(`Waiting for Pods: ${candidates.length} running Pods can be coordinators; expected ${count}`)
  const { databaseConfiguration: configuration = {}, coordinatorSelection: selection, dataCenter } = settings.spec
  const choice = chooseCoordinators(candidates, { configuration, selection, primaryDataCenter: dataCenter }, count)
  if ('problem' in choice) return stopFor(`Waiting for Pods: ${choice.problem}`)
  const coordinators = choice.chosen.map(({ address }) => address)
  return await store(context, connectionStringWith(context, coordinators))
})

function firstCount({ settings }: ClusterContext): number {
  const { databaseConfiguration = {} } = settings.spec
  const isInHalls = databaseConfiguration.redundancy_mode === 'three_data_hall'
  return isInHalls ? FIRST_COORDINATORS_IN_HALLS : coordinatorCount(databaseConfiguration)
}

function connectionStringWith({ settings, pass }: ClusterContext, coordinators: readonly string[]): string {
  const { databaseName = '', generationID = '' } = settings.spec.partialConnectionString ?? {}
  return formatConnectionString({
    description: databaseName === '' ? descriptionFor(settings.name) : databaseName,
    id: generationID === '' ? connectionIDFrom(pass.target.metadata.uid) : generationID,
    coordinators,
  })
}

async function store(context: ClusterContext, connectionString: string) {
  await normalEvent(context, 'GenerateInitialCoordinators', `Choosing initial coordinators: ${connectionString}`)
  updateStatus(context, { connectionString })
  await context.pass.save()
  // The ConfigMap follows in the next pass.
  return stopFor('the connection string was created', NO_DELAY_MS)
}

function candidatesIn(context: ClusterContext): readonly CoordinatorCandidate[] {
  const pods = podsByGroup(context)
  return processGroupsIn(context).flatMap((group) => {
    const pod = pods.get(group.processGroupID)
    if (pod === undefined || isMarked(group) || !isRunning(pod)) return []
    return candidateOf(context, pod, { id: group.processGroupID, processClass: group.processClass ?? '' })
  })
}

function candidateOf(
  context: ClusterContext,
  pod: ObservedPod,
  group: { readonly id: string; readonly processClass: string },
): readonly CoordinatorCandidate[] {
  const { settings } = context
  const { FDB_ZONE_ID: zone = '', FDB_DNS_NAME: name, FDB_PUBLIC_IP: ip } = substitutionsOf(pod) ?? {}
  const host = settings.routing.useDNSInClusterFile ? name : ip
  if (zone === '' || host === undefined) return []
  const isTls = wantsTls(settings)
  const [address] = processAddresses(host, 1, { tls: isTls, nonTLS: !isTls })
  return address === undefined
    ? []
    : [{ ...group, locality: localityIn(context, zone), address: formatAddress(address) }]
}

function localityIn({ settings }: ClusterContext, zone: string): Readonly<Record<string, string>> {
  const { dataCenter, dataHall } = settings.spec
  return {
    zoneid: zone,
    ...(dataCenter !== undefined && { dcid: dataCenter }),
    ...(dataHall !== undefined && { data_hall: dataHall }),
  }
}
