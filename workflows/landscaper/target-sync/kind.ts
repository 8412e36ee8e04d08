// TargetSync: synchronizes the Targets of a namespace with the Secrets or Shoots of another cluster. Wire format: spec/landscaper.md 1.9.

import { OPERATION_ANNOTATION } from '../contract.ts'
import {
  annotation,
  defineKind,
  flag,
  int64,
  list,
  type ObjectOf,
  path,
  record,
  required,
  text,
  timestamp,
} from '../../kit/index.ts'

export const targetSyncKind = defineKind({
  group: 'landscaper.gardener.cloud',
  version: 'v1alpha1',
  kind: 'TargetSync',
  plural: 'targetsyncs',
  singular: 'targetsync',
  shortNames: ['tgs'],
  statusSubresource: true,
  printerColumns: [],
  description: 'A TargetSync creates one Target for each matching Secret or Shoot of a source cluster.',
  schema: {
    spec: required(
      record('The source cluster, and the Secrets or Shoots to select.', {
        sourceNamespace: required(text('The namespace in the source cluster.')),
        secretRef: required(
          record('The Secret with the access to the source cluster.', {
            name: required(text('Name of the Secret in the same namespace.')),
            key: text(
              'The key of the kubeconfig in the Secret; default kubeconfig. The server must be one that Targets may lead to.',
            ),
          }),
        ),
        createTargetToSource: flag('Whether to create a Target for the source cluster itself.'),
        targetToSourceName: text('The name of this Target; default: the source namespace.'),
        secretNameExpression: text(
          'Selects Secrets by name: a regular expression (RE2) that matches anywhere in the name; * is all. Secrets without the key kubeconfig are skipped.',
        ),
        shootNameExpression: text('Selects Shoots in the same way; set exactly one of the two expressions.'),
        tokenRotation: record('Renewal of the access token.', {
          enabled: flag(
            'Whether Pawl renews the token of secretRef: for the ServiceAccount of the source namespace with the name of the only user of the kubeconfig, valid for 90 days, every 60 days, and on the annotation landscaper.gardener.cloud/rotate-token.',
          ),
        }),
      }),
    ),
    status: record('The result of the last synchronisation.', {
      observedGeneration: int64('The generation that was synchronised last.'),
      lastUpdateTime: timestamp('When it was synchronised last.'),
      lastErrors: list('The errors of the last synchronisation.', text('A description of an error.')),
      lastTokenRotationTime: timestamp('When the token was renewed last.'),
    }),
  },
  projection: [annotation(OPERATION_ANNOTATION), path('status.observedGeneration')],
  workerVerbs: [],
})

export type TargetSync = ObjectOf<typeof targetSyncKind>
