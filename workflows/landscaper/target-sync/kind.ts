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
      record('Where to look, and for what.', {
        sourceNamespace: required(text('Namespace in the source cluster.')),
        secretRef: required(
          record('The Secret with the access to the source cluster.', {
            name: required(text('Name of the Secret in the same namespace.')),
            key: text('Key of the kubeconfig; default kubeconfig.'),
          }),
        ),
        createTargetToSource: flag('Whether to create a Target for the source cluster itself.'),
        targetToSourceName: text('Name of that Target; default is the source namespace.'),
        secretNameExpression: text('Regular expression for names of Secrets; * is all.'),
        shootNameExpression: text('Regular expression for names of Shoots; * is all.'),
        tokenRotation: record('Renewal of the access token.', {
          enabled: flag('Whether the token is renewed.'),
        }),
      }),
    ),
    status: record('The result of the last synchronisation.', {
      observedGeneration: int64('The generation that was synchronised last.'),
      lastUpdateTime: timestamp('When it was synchronised last.'),
      lastErrors: list('What went wrong.', text('An error, for people.')),
      lastTokenRotationTime: timestamp('When the token was renewed last.'),
    }),
  },
  projection: [annotation(OPERATION_ANNOTATION), path('status.observedGeneration')],
  workerVerbs: [],
})

export type TargetSync = ObjectOf<typeof targetSyncKind>
