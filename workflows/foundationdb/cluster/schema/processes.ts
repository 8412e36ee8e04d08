// The processes of a cluster and their Pods in `spec`. Wire format: spec/foundationdb.md 1.1.

import {
  anyMap,
  flag,
  type Field,
  type Fields,
  integer,
  list,
  mapOf,
  oneOf,
  record,
  text,
  type ValueOf,
} from '../../../kit/index.ts'
import { customParametersField } from '../../container-schema.ts'
import { PROCESS_CLASSES, type ProcessClass } from '../../contract.ts'

const processSettingsField = record('The settings of a process class.', {
  podTemplate: anyMap('The Pods: metadata and spec, which the controller completes.'),
  volumeClaimTemplate: anyMap('The PersistentVolumeClaims of stateful classes.'),
  volumeClaim: anyMap('Alias of volumeClaimTemplate.'),
  customParameters: customParametersField,
})

export type ProcessSettings = ValueOf<typeof processSettingsField>

export const processesField = mapOf(
  'The settings by process class; general has the settings of all classes, which a class replaces field by field.',
  processSettingsField,
  { maxProperties: 40 },
)

const counts = Object.fromEntries(
  PROCESS_CLASSES.map((name) => [
    name,
    integer(`The number of process groups of class ${name}; 0 or absent: derived; -1: none.`, {
      minimum: -1,
      maximum: 10000,
    }),
  ]),
) as Readonly<Record<ProcessClass, Field<number>>>

export const processCountsField = record('The number of process groups by class.', counts satisfies Fields)

export type ProcessCounts = ValueOf<typeof processCountsField>

export const processGroupIDs = (description: string) =>
  list(description, text('The ID of a process group.', { maxLength: 63 }), { maxItems: 500 })

export const faultDomainField = record(
  'The fault domain of processes: failures of different domains are independent.',
  {
    key: text(
      'The topology key of Nodes, foundationdb.org/none, or foundationdb.org/kubernetes-cluster; default: kubernetes.io/hostname.',
      { maxLength: 317 },
    ),
    value: text('The fault domain of all processes, for foundationdb.org/kubernetes-cluster.', { maxLength: 253 }),
    valueFrom: text(
      'The field of a Pod with its fault domain, or $NAME of an environment variable; default: spec.nodeName.',
      {
        maxLength: 317,
      },
    ),
    zoneCount: integer('The number of Kubernetes clusters with processes of the database.', { minimum: 0 }),
    zoneIndex: integer('The index of this Kubernetes cluster, from 0; negative: it has no processes.'),
  },
)

export const routingField = record('The addresses of processes.', {
  headlessService: flag('Whether the cluster has a headless Service; default: false.'),
  publicIPSource: oneOf('The source of the public addresses of processes; default: pod.', ['pod', 'service']),
  podIPFamily: integer('The IP family of Pods with several addresses: 4 or 6.', { minimum: 4, maximum: 6 }),
  useDNSInClusterFile: flag(
    'Whether coordinators have DNS names in the cluster file, which also sets defineDNSLocalityFields; default: false.',
  ),
  defineDNSLocalityFields: flag(
    'Whether processes report their DNS names, which also sets headlessService; default: false.',
  ),
  dnsDomain: text('The domain of the Kubernetes cluster; default: cluster.local.', { maxLength: 253 }),
})

export const labelsField = record('Labels of the objects of the cluster.', {
  matchLabels: mapOf(
    'The labels by which the controller selects objects; default: the name of the cluster.',
    text('A value.', { maxLength: 63 }),
  ),
  resourceLabels: mapOf('Further labels of objects.', text('A value.', { maxLength: 63 })),
  processGroupIDLabels: list('The labels with the ID of a process group.', text('A key.', { maxLength: 317 }), {
    maxItems: 100,
  }),
  processClassLabels: list('The labels with the class of a process group.', text('A key.', { maxLength: 317 }), {
    maxItems: 100,
  }),
  filterOnOwnerReference: flag('Ignored: the controller only uses objects that the cluster owns.'),
})

export const buggifyField = record('Failures to cause, for tests.', {
  noSchedule: processGroupIDs('Process groups whose Pods no Node accepts.'),
  crashLoop: processGroupIDs(
    'Process groups whose main container crashes; * for all. Deprecated: use crashLoopContainers.',
  ),
  crashLoopContainers: list(
    'Containers that crash.',
    record('A container.', {
      containerName: text('The name of the container.', { maxLength: 253 }),
      targets: processGroupIDs('Process groups; * for all.'),
    }),
    { maxItems: 8 },
  ),
  emptyMonitorConf: flag('Whether no process runs in any Pod.'),
  ignoreDuringRestart: processGroupIDs('Process groups that are not restarted.'),
  blockRemoval: processGroupIDs('Process groups whose objects are not deleted.'),
})

export const coordinatorSelectionField = list(
  'The process classes of coordinators; default: storage, then log, then transaction.',
  record('A class.', {
    processClass: oneOf('The class.', PROCESS_CLASSES),
    priority: integer('The priority; higher is preferred.', { minimum: -1000000, maximum: 1000000 }),
  }),
  { maxItems: 20 },
)
