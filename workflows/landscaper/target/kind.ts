// Target: where to deploy to, and with which credentials. Wire format: spec/landscaper.md 1.5.

import { DATA_LABELS } from '../contract.ts'
import { anyJson, defineKind, type ObjectOf, path, record, required, text } from '../../kit/index.ts'

const column = (name: string, key: string) =>
  ({
    name,
    type: 'string',
    jsonPath: `.metadata.labels.data\\.landscaper\\.gardener\\.cloud/${key}`,
  }) as const

export const targetKind = defineKind({
  group: 'landscaper.gardener.cloud',
  version: 'v1alpha1',
  kind: 'Target',
  plural: 'targets',
  singular: 'target',
  shortNames: ['tgt', 'tg'],
  statusSubresource: false,
  printerColumns: [
    { name: 'Type', type: 'string', jsonPath: '.spec.type' },
    column('Context', 'context'),
    column('Key', 'key'),
    column('Idx', 'index'),
    column('TMKey', 'targetmapkey'),
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  description: 'A Target is an environment to deploy to: a type and the credentials that the type needs.',
  schema: {
    spec: required(
      record('The type of the target and the access to it.', {
        type: required(text('Type of the target, such as landscaper.gardener.cloud/kubernetes-cluster.')),
        config: anyJson('Access to the target in the form of its type; instead of secretRef.'),
        secretRef: record('A Secret that holds the configuration; instead of config.', {
          name: required(text('Name of the Secret in the same namespace.')),
          key: text('The key in the Secret; without it the configuration is a map of all keys.'),
        }),
      }),
    ),
  },
  projection: DATA_LABELS,
  hashed: [path('spec')],
  workerVerbs: ['get', 'list', 'create', 'patch', 'delete'],
})

export type Target = ObjectOf<typeof targetKind>
