// The headless Service of a cluster, and the Service of a process group. Source: spec/foundationdb.md 1.4, 2.9.

import type { WantedObject } from '../../kit/index.ts'
import { portOf } from '../database/process-address.ts'
import { type ClusterSettings, serversPerPod } from '../model/cluster-settings.ts'
import { headlessServiceName, podName } from '../model/process-group-id.ts'
import { clusterLabels, type ProcessGroup, processGroupLabels } from './object-metadata.ts'

export function headlessService(settings: ClusterSettings): WantedObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: headlessServiceName(settings.name), labels: clusterLabels(settings) },
    spec: { clusterIP: 'None', publishNotReadyAddresses: true, selector: settings.matchLabels },
  }
}

/** The Service whose address is the public address of the process group. */
export function processGroupService(settings: ClusterSettings, group: ProcessGroup): WantedObject {
  const labels = processGroupLabels(settings, group)
  const { podIPFamily } = settings.routing
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: podName(settings.name, group.processGroupID), labels },
    spec: {
      type: 'ClusterIP',
      publishNotReadyAddresses: true,
      ports: servicePorts(serversPerPod(settings, group.processClass)),
      selector: { ...settings.matchLabels, ...idLabels(settings, group) },
      ...(podIPFamily !== undefined && { ipFamilies: [`IPv${podIPFamily}`] }),
    },
  }
}

function idLabels(settings: ClusterSettings, group: ProcessGroup): Readonly<Record<string, string>> {
  const all = Object.entries(processGroupLabels(settings, group))
  return Object.fromEntries(all.filter(([, value]) => value === group.processGroupID))
}

function servicePorts(servers: number) {
  return Array.from({ length: servers }, (_, at) => at + 1).flatMap((process) => {
    const suffix = process === 1 ? '' : `-${process}`
    return [
      { name: `tls${suffix}`, port: portOf(process, true) },
      { name: `non-tls${suffix}`, port: portOf(process, false) },
    ]
  })
}
