// The Deployment of the agents of a backup. Source: spec/foundationdb.md 2.27.

import { fieldsOf, type JsonFields, listOf, textOf, type WantedObject } from '../../kit/index.ts'
import {
  BACKUP_LABEL,
  CLUSTER_FILE_KEY,
  DEPLOYMENT_LABEL,
  INIT_CONTAINER,
  LAST_SPEC_ANNOTATION,
  MAIN_CONTAINER,
} from '../contract.ts'
import type { BackupSettings } from '../model/backup-settings.ts'
import { backupDeploymentName, configMapName } from '../model/process-group-id.ts'
import { mainImage, sidecarImage } from './images.ts'
import { specHash, textsOf } from './object-metadata.ts'
import { completedContainer, containerNamed, withContainer, withNamed } from './pod-template.ts'

const REQUESTS = { cpu: '1', memory: '8Gi' }
const INIT_REQUESTS = { cpu: '100m', memory: '256Mi' }
const DYNAMIC_CONF = '/var/dynamic-conf'
const LOGS = '/var/log/fdb-trace-logs'

/** Undefined for a backup without agents. @param uid of the FoundationDBBackup. */
export function backupDeployment(settings: BackupSettings, uid: string): WantedObject | undefined {
  if (settings.agentCount === 0) return undefined
  const name = backupDeploymentName(settings.name)
  const { labels, annotations } = fieldsOf(settings.spec.backupDeploymentMetadata)
  const spec = deploymentSpec(settings, name)
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name,
      labels: { ...textsOf(labels), [BACKUP_LABEL]: uid, [DEPLOYMENT_LABEL]: name },
      annotations: { ...textsOf(annotations), [LAST_SPEC_ANNOTATION]: specHash(spec) },
    },
    spec,
  }
}

function deploymentSpec(settings: BackupSettings, name: string): JsonFields {
  const template = fieldsOf(settings.spec.podTemplateSpec ?? settings.spec.podTemplate)
  const { labels, annotations } = fieldsOf(template['metadata'])
  return {
    replicas: settings.agentCount,
    selector: { matchLabels: { [DEPLOYMENT_LABEL]: name } },
    template: {
      metadata: { labels: { ...textsOf(labels), [DEPLOYMENT_LABEL]: name }, annotations: textsOf(annotations) },
      spec: agentSpec(settings, fieldsOf(template['spec'])),
    },
  }
}

function agentSpec(settings: BackupSettings, template: JsonFields): JsonFields {
  const listed = (name: 'containers' | 'initContainers') => listOf(template[name]).map(fieldsOf)
  return {
    ...template,
    initContainers: withContainer(listed('initContainers'), copyingContainer(settings, template)),
    containers: withContainer(listed('containers'), agentContainer(settings, template)),
    volumes: withNamed(
      template['volumes'],
      [
        { name: 'logs', emptyDir: {} },
        { name: 'dynamic-conf', emptyDir: {} },
        {
          name: 'config-map',
          configMap: {
            name: configMapName(settings.clusterName),
            items: [{ key: CLUSTER_FILE_KEY, path: 'fdb.cluster' }],
          },
        },
      ],
      'name',
    ),
  }
}

function agentContainer(settings: BackupSettings, template: JsonFields): JsonFields {
  const { version, imageType, mainContainer: container, spec } = settings
  const given = containerNamed(template['containers'], MAIN_CONTAINER)
  return completedContainer(given, {
    image: mainImage({ version, imageType, container, templateImage: textOf(given['image']) }),
    command: ['backup_agent'],
    args: [
      ...['--log', '--logdir', LOGS],
      ...['--locality_zoneid', '$(FDB_ZONE_ID)', '--locality_machineid', '$(FDB_MACHINE_ID)'],
      ...(spec.dataCenter === undefined ? [] : ['--locality_dcid', spec.dataCenter]),
      ...(spec.customParameters ?? []).map((one) => `--${one}`),
    ],
    env: [
      { name: 'FDB_CLUSTER_FILE', value: `${DYNAMIC_CONF}/fdb.cluster` },
      ...['FDB_ZONE_ID', 'FDB_MACHINE_ID'].map((name) => ({
        name,
        valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } },
      })),
    ],
    volumeMounts: [
      { name: 'logs', mountPath: LOGS },
      { name: 'dynamic-conf', mountPath: DYNAMIC_CONF },
    ],
    requests: REQUESTS,
  })
}

/** Waits for a cluster file that is not empty. */
function copyingContainer(settings: BackupSettings, template: JsonFields): JsonFields {
  const { version, imageType, sidecarContainer: container } = settings
  const given = containerNamed(template['initContainers'], INIT_CONTAINER)
  const isUnified = imageType === 'unified'
  return completedContainer(given, {
    image: sidecarImage({ version, imageType, container, templateImage: textOf(given['image']) }),
    args: [
      ...(isUnified ? ['--mode', 'init', '--output-dir', '/var/output-files', '--input-dir', '/var/input-files'] : []),
      ...['--copy-file', 'fdb.cluster', '--require-not-empty', 'fdb.cluster'],
      ...(isUnified ? [] : ['--init-mode']),
    ],
    env: [],
    volumeMounts: [
      { name: 'config-map', mountPath: '/var/input-files' },
      { name: 'dynamic-conf', mountPath: '/var/output-files' },
    ],
    requests: INIT_REQUESTS,
  })
}
