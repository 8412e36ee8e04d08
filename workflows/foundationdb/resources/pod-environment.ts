// The environment variables of a Pod with which the sidecar completes the configuration of its processes. Source:
// spec/foundationdb.md 4.14.

import type { JsonFields } from '../../kit/index.ts'
import { KUBERNETES_CLUSTER_FAULT_DOMAIN, NO_FAULT_DOMAIN, PUBLIC_IP_ANNOTATION } from '../contract.ts'
import { type ClusterSettings, serversPerPod } from '../model/cluster-settings.ts'
import { headlessServiceName, podName } from '../model/process-group-id.ts'
import { wantsListenAddress, zoneVariable } from './monitor-configuration.ts'
import type { ProcessGroup } from './object-metadata.ts'

export function substitutionEnvironment(settings: ClusterSettings, group: ProcessGroup): readonly JsonFields[] {
  const { publicIPSource, podIPFamily, defineDNSLocalityFields } = settings.routing
  const podIP = podIPFamily === undefined ? 'status.podIP' : 'status.podIPs'
  const publicIP = publicIPSource === 'service' ? `metadata.annotations['${PUBLIC_IP_ANNOTATION}']` : podIP
  const servers = serversPerPod(settings, group.processClass)
  return [
    reference('FDB_PUBLIC_IP', publicIP),
    ...(wantsListenAddress(settings) ? [reference('FDB_POD_IP', podIP)] : []),
    ...faultDomainEnvironment(settings),
    { name: 'FDB_INSTANCE_ID', value: group.processGroupID },
    ...(defineDNSLocalityFields ? [{ name: 'FDB_DNS_NAME', value: dnsName(settings, group.processGroupID) }] : []),
    ...(servers > 1 ? [{ name: `${group.processClass.toUpperCase()}_SERVERS_PER_POD`, value: String(servers) }] : []),
  ]
}

/** The DNS name of the Pod of a process group. */
export function dnsName({ name, namespace, routing }: ClusterSettings, processGroupID: string): string {
  return `${podName(name, processGroupID)}.${headlessServiceName(name)}.${namespace}.svc.${routing.dnsDomain}`
}

/** Further variables that the sidecar replaces. */
export function substitutedVariables(settings: ClusterSettings): readonly string[] {
  const zone = zoneVariable(settings)
  return [
    ...new Set([
      ...(wantsListenAddress(settings) ? ['FDB_POD_IP'] : []),
      ...(zone === 'FDB_ZONE_ID' ? [] : [zone]),
      ...(settings.routing.defineDNSLocalityFields ? ['FDB_DNS_NAME'] : []),
      ...(settings.spec.sidecarVariables ?? []),
    ]),
  ]
}

function faultDomainEnvironment({
  faultDomain: { key, value = '', valueFrom },
}: ClusterSettings): readonly JsonFields[] {
  if (key === NO_FAULT_DOMAIN)
    return [reference('FDB_MACHINE_ID', 'metadata.name'), reference('FDB_ZONE_ID', 'metadata.name')]
  const machine = reference('FDB_MACHINE_ID', 'spec.nodeName')
  if (key === KUBERNETES_CLUSTER_FAULT_DOMAIN) return [machine, { name: 'FDB_ZONE_ID', value }]
  return valueFrom.startsWith('$') ? [machine] : [machine, reference('FDB_ZONE_ID', valueFrom)]
}

function reference(name: string, fieldPath: string): JsonFields {
  return { name, valueFrom: { fieldRef: { fieldPath } } }
}
