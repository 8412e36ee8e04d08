// Step 12. Chooses the first coordinators from the running Pods, and stores the connection string. Source:
// seeds/foundationdb-operator-technical-design.txt GenerateInitialClusterFile; spec/foundationdb.md 2.12.

import { connectionIDFrom, descriptionFor, formatConnectionString } from '../../database/connection-string.ts'
import { chooseCoordinators, type CoordinatorCandidate } from '../../database/coordinators.ts'
import { addressesOf as processAddresses, formatAddress, parseAddress } from '../../database/process-address.ts'
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
  const { settings, status, pass } = context
  if ((status.connectionString ?? '') !== '') return undefined
  const { seedConnectionString = '', partialConnectionString = {}, databaseConfiguration = {} } = settings.spec
  if (seedConnectionString !== '') return await store(context, seedConnectionString)
  const candidates = candidatesIn(context)
  const isInHalls = databaseConfiguration.redundancy_mode === 'three_data_hall'
  const count = isInHalls ? FIRST_COORDINATORS_IN_HALLS : coordinatorCount(databaseConfiguration)
  const fewer =
    candidates.length < count ? `${candidates.length} running Pods can be coordinators; expected ${count}` : undefined
  if (fewer !== undefined) return stopFor(`Waiting for Pods: ${fewer}`)
  const rules = {
    configuration: databaseConfiguration,
    selection: settings.spec.coordinatorSelection,
    primaryDataCenter: settings.spec.dataCenter,
  }
  const choice = chooseCoordinators(candidates, rules, count)
  if ('problem' in choice) return stopFor(choice.problem)
  const { databaseName = '', generationID = '' } = partialConnectionString
  return await store(
    context,
    formatConnectionString({
      description: databaseName === '' ? descriptionFor(settings.name) : databaseName,
      id: generationID === '' ? connectionIDFrom(pass.target.metadata.uid) : generationID,
      coordinators: choice.chosen.map(({ address }) => address),
    }),
  )
})

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
  { settings }: ClusterContext,
  pod: ObservedPod,
  group: { readonly id: string; readonly processClass: string },
): readonly CoordinatorCandidate[] {
  const values = substitutionsOf(pod)
  const zone = values?.['FDB_ZONE_ID']
  const host = settings.routing.useDNSInClusterFile ? values?.['FDB_DNS_NAME'] : values?.['FDB_PUBLIC_IP']
  const parsed = host === undefined ? undefined : parseAddress(host.includes(':') ? `[${host}]` : host)
  if (zone === undefined || zone === '' || parsed === undefined) return []
  const isTls = wantsTls(settings)
  const [address] = processAddresses(parsed.host, 1, { tls: isTls, nonTLS: !isTls })
  const { dataCenter, dataHall } = settings.spec
  const locality = {
    zoneid: zone,
    ...(dataCenter !== undefined && { dcid: dataCenter }),
    ...(dataHall !== undefined && { data_hall: dataHall }),
  }
  return address === undefined ? [] : [{ ...group, locality, address: formatAddress(address) }]
}
