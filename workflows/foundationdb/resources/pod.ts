// The Pod of a process group. Pure: equal input gives an equal Pod, and an equal hash of its spec. Source:
// spec/foundationdb.md 4.14.
//
//   P1. The hash does not depend on the process group's address, Node or configuration, which change while the Pod runs.

import { fieldsOf, type JsonFields, listOf, type WantedObject } from '../../kit/index.ts'
import {
  CA_FILE_KEY,
  CLUSTER_FILE_KEY,
  IMAGE_TYPE_ANNOTATION,
  INIT_CONTAINER,
  IP_FAMILY_ANNOTATION,
  KUBERNETES_CLUSTER_FAULT_DOMAIN,
  LAST_CONFIG_MAP_ANNOTATION,
  LAST_SPEC_ANNOTATION,
  NO_FAULT_DOMAIN,
  NO_SCHEDULE_LABEL,
  PROCESS_CLASS_LABEL,
  PUBLIC_IP_ANNOTATION,
  PUBLIC_IP_SOURCE_ANNOTATION,
} from '../contract.ts'
import { type ClusterSettings, serversPerPod } from '../model/cluster-settings.ts'
import { configMapName, headlessServiceName, podName, volumeClaimName } from '../model/process-group-id.ts'
import { monitorKey } from './config-map.ts'
import { type ProcessGroup, processGroupLabels, specHash, textsOf } from './object-metadata.ts'
import { initContainer, mainContainer, sidecarContainer } from './pod-containers.ts'
import { withContainer, withNamed } from './pod-template.ts'
import { hasVolumeClaim, processSettings } from './process-settings.ts'

export interface PodInput {
  readonly settings: ClusterSettings
  readonly group: ProcessGroup
  /** The version of the images (images.ts, podVersion). */
  readonly version: string
}

export interface NewPodInput extends PodInput {
  /** The hash of the keys of the ConfigMap that the Pod starts with (config-map.ts). */
  readonly configMapHash: string
  /** The address of the Service of the process group; undefined: none. */
  readonly publicIP: string | undefined
}

export function clusterPod(input: NewPodInput): WantedObject {
  const { settings, group, publicIP } = input
  const { metadata } = processSettings(settings.spec, group.processClass).podTemplate
  const spec = podSpec(input)
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: podName(settings.name, group.processGroupID),
      labels: podLabels(settings, group),
      annotations: {
        ...textsOf(fieldsOf(metadata)['annotations']),
        ...podAnnotations(settings),
        [LAST_SPEC_ANNOTATION]: specHash(spec),
        [LAST_CONFIG_MAP_ANNOTATION]: input.configMapHash,
        ...(publicIP !== undefined && { [PUBLIC_IP_ANNOTATION]: publicIP }),
      },
    },
    spec,
  }
}

/** P1. An existing Pod with another hash in its annotation is recreated. */
export function podSpecHash(input: PodInput): string {
  return specHash(podSpec(input))
}

export function podLabels(settings: ClusterSettings, group: ProcessGroup): Readonly<Record<string, string>> {
  const { metadata } = processSettings(settings.spec, group.processClass).podTemplate
  return { ...textsOf(fieldsOf(metadata)['labels']), ...processGroupLabels(settings, group) }
}

/** Annotations that describe how the Pod was created; they never change. */
export function podAnnotations({ routing, imageType }: ClusterSettings): Readonly<Record<string, string>> {
  const { publicIPSource, podIPFamily } = routing
  return {
    [PUBLIC_IP_SOURCE_ANNOTATION]: publicIPSource,
    [IMAGE_TYPE_ANNOTATION]: imageType,
    ...(podIPFamily !== undefined && { [IP_FAMILY_ANNOTATION]: String(podIPFamily) }),
  }
}

export function podSpec({ settings, group, version }: PodInput): JsonFields {
  const template = fieldsOf(processSettings(settings.spec, group.processClass).podTemplate['spec'])
  const input = { settings, group, version, template }
  const containers = withContainer(listOf(template['containers']).map(fieldsOf), mainContainer(input))
  const initContainers = listOf(template['initContainers']).map(fieldsOf)
  const isUnified = settings.imageType === 'unified'
  return {
    ...template,
    ...(isUnified
      ? initContainers.length > 0 && { initContainers: initContainers.filter(({ name }) => name !== INIT_CONTAINER) }
      : { initContainers: withContainer(initContainers, initContainer(input)) }),
    containers: withContainer(containers, sidecarContainer(input)),
    volumes: withNamed(template['volumes'], volumes(settings, group), 'name'),
    affinity: affinity(fieldsOf(template['affinity']), settings, group),
    ...(settings.routing.headlessService && {
      hostname: podName(settings.name, group.processGroupID),
      subdomain: headlessServiceName(settings.name),
    }),
  }
}

function volumes(settings: ClusterSettings, group: ProcessGroup): readonly JsonFields[] {
  const { processGroupID, processClass } = group
  const isUnified = settings.imageType === 'unified'
  const key = monitorKey(settings, { processClass, servers: serversPerPod(settings, processClass) })
  const hasCertificates = (settings.spec.trustedCAs ?? []).length > 0
  const items = [
    { key, path: isUnified ? 'config.json' : 'fdbmonitor.conf' },
    { key: CLUSTER_FILE_KEY, path: 'fdb.cluster' },
    ...(hasCertificates ? [{ key: CA_FILE_KEY, path: 'ca.pem' }] : []),
  ]
  return [
    hasVolumeClaim(settings.spec, processClass)
      ? { name: 'data', persistentVolumeClaim: { claimName: volumeClaimName(settings.name, processGroupID) } }
      : { name: 'data', emptyDir: {} },
    { name: isUnified ? 'shared-binaries' : 'dynamic-conf', emptyDir: {} },
    { name: 'config-map', configMap: { name: configMapName(settings.name), items } },
    { name: 'fdb-trace-logs', emptyDir: {} },
  ]
}

/** Pods of a class prefer different fault domains. */
function affinity(template: JsonFields, settings: ClusterSettings, group: ProcessGroup): JsonFields {
  const { faultDomain, matchLabels, spec } = settings
  const { noSchedule = [] } = spec.buggify ?? {}
  const isSpread = faultDomain.key !== NO_FAULT_DOMAIN && faultDomain.key !== KUBERNETES_CLUSTER_FAULT_DOMAIN
  const term = {
    weight: 1,
    podAffinityTerm: {
      topologyKey: faultDomain.key,
      labelSelector: { matchLabels: { ...matchLabels, [PROCESS_CLASS_LABEL]: group.processClass } },
    },
  }
  return {
    ...template,
    ...(isSpread && { podAntiAffinity: withPreferred(fieldsOf(template['podAntiAffinity']), term) }),
    ...(noSchedule.includes(group.processGroupID) && { nodeAffinity: NEVER_SCHEDULED }),
  }
}

const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution'

function withPreferred(template: JsonFields, term: JsonFields): JsonFields {
  return { ...template, [PREFERRED]: [...listOf(template[PREFERRED]), term] }
}

const NEVER_SCHEDULED: JsonFields = {
  requiredDuringSchedulingIgnoredDuringExecution: {
    nodeSelectorTerms: [{ matchExpressions: [{ key: NO_SCHEDULE_LABEL, operator: 'In', values: ['true'] }] }],
  },
}
