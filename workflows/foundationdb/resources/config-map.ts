// The ConfigMap of a cluster, and the part of it that a Pod uses. Source: spec/foundationdb.md 4.13.

import { canonicalJson, fieldsOf, sha256, type WantedObject } from '../../kit/index.ts'
import { CA_FILE_KEY, CLUSTER_FILE_KEY, RUNNING_VERSION_KEY } from '../contract.ts'
import type { ClusterSettings } from '../model/cluster-settings.ts'
import { configMapName } from '../model/process-group-id.ts'
import type { AddressKinds } from '../database/process-address.ts'
import { monitorConfiguration } from './monitor-configuration.ts'
import { clusterLabels, textsOf } from './object-metadata.ts'
import { unifiedConfiguration } from './unified-configuration.ts'

/** A monitor configuration that some Pod needs. */
export interface MonitorVariant {
  readonly processClass: string
  readonly servers: number
}

export interface ConfigMapInput {
  readonly settings: ClusterSettings
  readonly connectionString: string | undefined
  readonly runningVersion: string
  readonly addresses: AddressKinds
  readonly hasListenIPs: boolean
  /** The desired versions, and the versions of existing Pods. */
  readonly variants: readonly MonitorVariant[]
}

/** The key with the monitor configuration of a class. */
export function monitorKey(
  { imageType }: Pick<ClusterSettings, 'imageType'>,
  { processClass, servers }: MonitorVariant,
): string {
  if (imageType === 'unified') return `fdbmonitor-conf-${processClass}-json`
  return `fdbmonitor-conf-${processClass}${servers > 1 ? `-density-${servers}` : ''}`
}

export function clusterConfigMap(input: ConfigMapInput): WantedObject {
  const { settings } = input
  const { metadata, data } = fieldsOf(settings.spec.configMap)
  const { labels, annotations } = fieldsOf(metadata)
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: configMapName(settings.name),
      labels: { ...textsOf(labels), ...clusterLabels(settings) },
      annotations: textsOf(annotations),
    },
    data: { ...textsOf(data), ...generatedData(input) },
  }
}

/**
 * The hash of the keys that a Pod uses; stored in its annotation when the Pod has them.
 *
 * @param data of the ConfigMap.
 */
export function configMapHash(
  data: Readonly<Record<string, string>>,
  settings: Pick<ClusterSettings, 'imageType'>,
  variant: MonitorVariant,
): string {
  const keys = [CLUSTER_FILE_KEY, monitorKey(settings, variant), RUNNING_VERSION_KEY, CA_FILE_KEY, 'sidecar-conf']
  return sha256(canonicalJson(Object.fromEntries(keys.flatMap((key) => (key in data ? [[key, data[key]]] : [])))))
}

function generatedData(input: ConfigMapInput): Readonly<Record<string, string>> {
  const { settings, connectionString = '', runningVersion, variants } = input
  const { trustedCAs = [] } = settings.spec
  const monitors = variants.map((variant) => {
    const monitor = { ...input, ...variant }
    const isUnified = settings.imageType === 'unified'
    const text = isUnified ? unifiedConfiguration(monitor, runningVersion) : monitorConfiguration(monitor)
    return [monitorKey(settings, variant), text] as const
  })
  return {
    [CLUSTER_FILE_KEY]: connectionString,
    [RUNNING_VERSION_KEY]: runningVersion,
    ...(trustedCAs.length > 0 && { [CA_FILE_KEY]: trustedCAs.join('\n') }),
    ...Object.fromEntries(monitors),
  }
}
