// Context: settings that the installations of a namespace share. Wire format: spec/landscaper.md 1.7.

import { DATA_LABELS } from '../contract.ts'
import {
  anyJson,
  anyMap,
  defineKind,
  list,
  mapOf,
  type ObjectOf,
  path,
  record,
  required,
  text,
} from '../../kit/index.ts'

const localReference = (description: string) => record(description, { name: text('Name of the object.') })

const secretReference = (description: string) =>
  record(description, {
    name: required(text('Name of the Secret.')),
    namespace: text('Namespace of the Secret; must be that of the Context.'),
    key: text('Key in the Secret.'),
  })

export const contextKind = defineKind({
  group: 'landscaper.gardener.cloud',
  version: 'v1alpha1',
  kind: 'Context',
  plural: 'contexts',
  singular: 'context',
  shortNames: ['ctx'],
  statusSubresource: false,
  printerColumns: [{ name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }],
  description: 'A Context holds what the installations of a namespace share: repositories, credentials, overwrites.',
  schema: {
    repositoryContext: anyJson('The default repository of components.'),
    ocmConfig: localReference('A ConfigMap with the key .ocmconfig.'),
    registryPullSecrets: list('Secrets for access to registries.', localReference('A Secret.')),
    configurations: anyMap('Settings per feature, by name.'),
    componentVersionOverwrites: text('Name of a ComponentVersionOverwrites object.'),
    verificationSignatures: mapOf(
      'Keys to verify signatures with, by name of the signature.',
      record('The keys of one signature.', {
        publicKeySecretReference: secretReference('A Secret with the public key.'),
        caCertificateSecretReference: secretReference('A Secret with the certificate of the authority.'),
      }),
    ),
  },
  projection: DATA_LABELS,
  hashed: [
    path('repositoryContext'),
    path('ocmConfig'),
    path('registryPullSecrets'),
    path('configurations'),
    path('componentVersionOverwrites'),
    path('verificationSignatures'),
  ],
  // Pawl checks whether the Context of an Installation exists.
  workerVerbs: ['get'],
})

export type Context = ObjectOf<typeof contextKind>
