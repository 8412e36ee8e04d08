// Declares the wing's requirements to its workers: flags, and rights on Kubernetes' own kinds.

import type { Wing } from '../kit/index.ts'
import { selfReports } from './self-reports.ts'
import { LISTED_SERVER_FORM, readListedServer, readRepositoryContext, REPOSITORY_FORM } from './flag-values.ts'

// Source: RFC 1123 labels, required for namespaces.
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

const SELF_REPORT_RULE = { apiGroups: ['landscaper.gardener.cloud'], verbs: ['get', 'create', 'patch'] }

export const landscaperWing = {
  flags: {
    'pickup-timeout': {
      takes: '<duration>',
      reads: 'duration',
      otherwise: '5m',
      text: 'how long an item waits for a deployer that its job does not run, or none',
    },
    deployers: {
      takes: '<types>',
      reads: 'text',
      default: 'all',
      text: 'deploy only items of these types, such as mock,kubernetes-manifest',
    },
    'strict-tenancy': {
      takes: '<yes-or-no>',
      reads: 'yes-or-no',
      otherwise: 'no',
      text: 'whether tenants share the cluster: ServiceAccounts are used only where they allow it, hand-made data is not taken',
    },
    protect: {
      takes: '<yes-or-no>',
      reads: 'yes-or-no',
      otherwise: 'yes',
      seldom: true,
      text: 'whether Targets and their Secrets get a finalizer that keeps them until the last DeployItem that needs them is uninstalled',
    },
    'default-contexts': {
      takes: '<yes-or-no>',
      reads: 'yes-or-no',
      otherwise: 'no',
      inDev: 'own-server',
      text: 'whether each namespace gets a Context called default; bridge and worker need the same value',
    },
    'default-context-repository': {
      takes: '<json>',
      reads: 'text',
      default: 'none',
      inDev: 'as-given',
      text: 'the repositoryContext of Contexts called default, such as {"type":"OCIRegistry","baseUrl":"ghcr.io/acme"}',
      accepts: (text) => readRepositoryContext(text) !== undefined,
      expected: REPOSITORY_FORM,
    },
    'default-context-excluded': {
      takes: '<namespaces>',
      reads: 'list',
      default: 'none',
      inDev: 'as-given',
      text: 'the namespaces that get no Context called default',
      accepts: (entry) => NAMESPACE.test(entry),
      expected: 'the name of a namespace',
    },
    'target-sync': {
      takes: '<yes-or-no>',
      reads: 'yes-or-no',
      otherwise: 'no',
      inDev: 'as-given',
      text: 'whether TargetSyncs are served; bridge and worker need the same value',
    },
    'registry-local': {
      takes: '<folder>',
      reads: 'text',
      default: 'none',
      inDev: 'as-given',
      text: 'folder of the components whose repositoryContext has the type local',
    },
    'verify-signatures': {
      takes: '<when>',
      reads: 'choice',
      otherwise: 'asked',
      of: ['asked', 'always', 'never'],
      text: 'which components to verify before installing: asked (if the Installation requests it), always, never',
    },
    'webhook-vouches': {
      takes: '<yes-or-no>',
      reads: 'yes-or-no',
      otherwise: 'no',
      inDev: 'own-server',
      text: 'whether to show user names that the webhook recorded without "(not verified)"; only if the webhook covers all such writes, with --record-policy Fail',
      seldom: true,
    },
    'target-allow': {
      takes: '<servers>',
      reads: 'list',
      default: 'none',
      inDev: 'api-server',
      text: 'servers that Targets and registries may use in addition to public and private networks: hosts, also without TLS, or addresses such as 127.0.0.0/8',
      accepts: (entry) => readListedServer(entry) !== undefined,
      expected: LISTED_SERVER_FORM,
    },
  },
  workerRules: [
    // Imports and exports are read and written by name; no list of Secrets is needed. Pawl deletes retained objects with their owner, and the objects
    // of a TargetSync with the TargetSync.
    { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create', 'patch', 'delete'] },
    { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
    // Targets with `selfConfig`: the user's ServiceAccount deploys, not the worker's.
    { apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'] },
    // With --strict-tenancy: whether the ServiceAccount permits its use.
    { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['get'] },
    // With --health-check and --critical-problems.
    { ...SELF_REPORT_RULE, resources: ['criticalproblems', 'lshealthchecks'] },
  ],
  bridgeRules: [{ ...SELF_REPORT_RULE, resources: ['lshealthchecks'] }],
  statusReports: selfReports,
  switches: { context: 'default-contexts', targetSync: 'target-sync' },
  // Source: spec/landscaper.md 5.3.
  admission: {
    configuration: 'landscaper-validation-webhook',
    domain: 'validation.landscaper.gardener.cloud',
    skipLabel: 'validation.landscaper.gardener.cloud/skip-validation',
    mutation: { configuration: 'landscaper-mutation-webhook', domain: 'mutation.landscaper.gardener.cloud' },
  },
} as const satisfies Wing
