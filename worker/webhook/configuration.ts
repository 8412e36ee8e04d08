// Builds and applies the webhook configurations: one ValidatingWebhookConfiguration per wing with rules, and one
// MutatingWebhookConfiguration for its mutations. The webhook writes only its own entries.
//
//   V1. An entry belongs to the webhook if its name ends in the wing's domain. Other entries and all metadata stay
//       unchanged.
//   V2. The API server does not call the webhook for objects that are being deleted, or for changes of metadata or
//       status alone. A stopped webhook therefore blocks no deletion and no annotation.
//   V3. A mutation is called for the writes that it selects (match-conditions.ts). A stopped webhook blocks these
//       writes only if the operator configured it.
//   V4. Rules about metadata have failurePolicy Ignore, because the write may be the last step of a deletion.
//   V5. If a wing counts deletions, the API server calls the webhook for them. The webhook always allows them, and a
//       timeout of 1 s with failurePolicy Ignore limits the delay.

import {
  type Admission,
  canonicalJson,
  type AdmissionKind,
  type Mutation,
  type WingAdmission,
} from '../../workflows/kit/index.ts'
import type { KubeClient, KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { isAlreadyExists, isConflict, isNotFound } from '../../activities/kube/errors.ts'
import { matchConditionInCel, newOrChangedInCel, NOT_BEING_DELETED } from './match-conditions.ts'
import type { FailurePolicy, WebhookAddress } from './flags.ts'

export const VALIDATE_PATH = '/validate'
/** Gives the same answers as VALIDATE_PATH. The path shows which of two entries a call belongs to. */
export const VALIDATE_METADATA_PATH = '/validate/metadata'
export const MUTATE_PATH = '/mutate'

const API = 'admissionregistration.k8s.io/v1'
const PLURALS = {
  ValidatingWebhookConfiguration: 'validatingwebhookconfigurations',
  MutatingWebhookConfiguration: 'mutatingwebhookconfigurations',
} as const
const NAMESPACE_LABEL = 'kubernetes.io/metadata.name'
const MAX_TRIES = 5
/** V5: the shortest timeout that Kubernetes allows. */
const DELETION_NOTICE_SECONDS = 1

export interface WebhookClient {
  readonly address: WebhookAddress
  readonly failurePolicy: FailurePolicy
  /** For mutations that leave the policy to the operator. */
  readonly recordPolicy: FailurePolicy
  readonly timeoutSeconds: number
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined
  /** PEM. */
  readonly bundle: string
}

export interface WebhookEntry {
  readonly name: string
  readonly [field: string]: unknown
}

export interface DesiredConfiguration {
  readonly kind: keyof typeof PLURALS
  readonly name: string
  /** The names of our entries end in this domain. */
  readonly domain: string
  readonly webhooks: readonly WebhookEntry[]
}

export function validatingConfiguration(
  { configuration, domain, skipLabel, counters = {} }: WingAdmission,
  admissions: readonly Admission[],
  client: WebhookClient,
): DesiredConfiguration {
  const shared = {
    ...sharedFields(client, VALIDATE_PATH),
    failurePolicy: client.failurePolicy,
    objectSelector:
      skipLabel === undefined ? {} : { matchExpressions: [{ key: skipLabel, operator: 'NotIn', values: ['true'] }] },
  }
  // V5. A client may delete an object twice; the second call is not counted.
  const deletedEntry = ({ kind }: Admission): WebhookEntry => ({
    name: `${kind.plural}.deleted.${domain}`,
    rules: rulesOf({ kind, operations: ['DELETE'] }),
    ...shared,
    matchConditions: [{ name: 'is-not-being-deleted', expression: '!has(oldObject.metadata.deletionTimestamp)' }],
    failurePolicy: 'Ignore',
    timeoutSeconds: DELETION_NOTICE_SECONDS,
  })
  const webhooks = admissions.flatMap((admission): readonly WebhookEntry[] => {
    const { kind, metadata, onlyMutates } = admission
    if (onlyMutates === true) return []
    const rules = rulesOf(admission)
    const entry = { name: `${kind.plural}.${domain}`, rules, matchConditions: matchConditionsOf(kind), ...shared }
    const entries = [entry, ...(counters[kind.kind]?.deleted === undefined ? [] : [deletedEntry(admission)])]
    if (metadata === undefined) return entries
    const matchConditions = [{ name: 'is-asked-about', expression: matchConditionInCel(metadata.filter, kind) }]
    // V4
    const ofMetadata = { name: `${kind.plural}.metadata.${domain}`, rules, matchConditions }
    const clientConfig = clientConfigOf(client, VALIDATE_METADATA_PATH)
    return [...entries, { ...ofMetadata, ...shared, clientConfig, failurePolicy: 'Ignore' }]
  })
  return { kind: 'ValidatingWebhookConfiguration', name: nameFor(configuration, client), domain, webhooks }
}

/** Undefined if the wing has no mutations. */
export function mutatingConfiguration(
  { mutation }: WingAdmission,
  admissions: readonly Admission[],
  client: WebhookClient,
): DesiredConfiguration | undefined {
  const all = admissions.flatMap((admission) => (admission.mutations ?? []).map((entry) => [admission, entry] as const))
  if (mutation === undefined || all.length === 0) return undefined
  const { configuration, domain } = mutation
  // The webhook is called again if another webhook changes the object after it.
  const shared = { ...sharedFields(client, MUTATE_PATH), reinvocationPolicy: 'IfNeeded' }
  const webhooks = all.map(([admission, entry]): WebhookEntry => {
    const name = `${admission.kind.plural}.${entry.name}.${domain}`
    const matchConditions = [{ name: 'is-asked-about', expression: matchConditionInCel(entry.filter, admission.kind) }]
    const { labelled } = admission
    const objectSelector = labelled === undefined ? {} : { matchExpressions: [{ key: labelled, operator: 'Exists' }] }
    const failurePolicy = policyOf(entry, client)
    return { name, rules: rulesOf(admission), matchConditions, objectSelector, failurePolicy, ...shared }
  })
  return { kind: 'MutatingWebhookConfiguration', name: nameFor(configuration, client), domain, webhooks }
}

function policyOf({ whenUnavailable }: Mutation, { failurePolicy, recordPolicy }: WebhookClient): FailurePolicy {
  switch (whenUnavailable) {
    case 'pass':
      return 'Ignore'
    case 'failure-policy':
      return failurePolicy
    case 'record-policy':
      return recordPolicy
  }
}

function nameFor(configuration: string, { namespace }: WebhookClient): string {
  return namespace === undefined ? configuration : `${configuration}-${namespace}`
}

/** Sets every field that the API server would default, so that the entries can be compared with the stored ones. */
function sharedFields(client: WebhookClient, path: string) {
  const { namespace } = client
  return {
    admissionReviewVersions: ['v1'],
    clientConfig: clientConfigOf(client, path),
    matchPolicy: 'Equivalent',
    namespaceSelector:
      namespace === undefined
        ? {}
        : { matchExpressions: [{ key: NAMESPACE_LABEL, operator: 'In', values: [namespace] }] },
    sideEffects: 'None',
    timeoutSeconds: client.timeoutSeconds,
  }
}

function rulesOf({ kind, operations }: { readonly kind: AdmissionKind; readonly operations: readonly string[] }) {
  const { group, version, plural, withoutNamespace = false } = kind
  const scope = withoutNamespace ? 'Cluster' : 'Namespaced'
  return [{ apiGroups: [group], apiVersions: [version], operations: [...operations], resources: [plural], scope }]
}

/** V2 as CEL expressions. review.ts (R1) applies the same rule. */
function matchConditionsOf(kind: AdmissionKind) {
  return [
    { name: 'is-not-being-deleted', expression: NOT_BEING_DELETED },
    { name: 'is-new-or-changed', expression: newOrChangedInCel(kind) },
  ]
}

function clientConfigOf({ address: address, bundle }: WebhookClient, path: string) {
  const caBundle = Buffer.from(bundle).toString('base64')
  if ('url' in address) return { caBundle, url: `${address.url}${path}` }
  return { caBundle, service: { ...address.service, path, port: 443 } }
}

/** Creates or updates the configuration. @returns true if it wrote something. */
export async function applyConfiguration(kube: KubeClient, desired: DesiredConfiguration): Promise<boolean> {
  for (let tries = 1; ; tries++) {
    try {
      return await tryApply(kube, desired)
    } catch (error) {
      if (tries === MAX_TRIES || !(isConflict(error) || isAlreadyExists(error))) throw error
    }
  }
}

async function tryApply(kube: KubeClient, { kind, name, domain, webhooks }: DesiredConfiguration): Promise<boolean> {
  const resource = { apiVersion: API, plural: PLURALS[kind] }
  const path = resourcePath(resource, undefined, name)
  const found = await read(kube, path)
  if (found === undefined) {
    const body = { apiVersion: API, kind, metadata: { name }, webhooks }
    await kube.request('POST', resourcePath(resource, undefined), { body })
    return true
  }
  const entries = (found['webhooks'] ?? []) as readonly WebhookEntry[]
  const foreignEntries = entries.filter((entry) => !entry.name.endsWith(`.${domain}`))
  const all = [...foreignEntries, ...webhooks]
  if (canonicalJson(entries) === canonicalJson(all)) return false
  const { uid, resourceVersion } = found.metadata
  await kube.request('PATCH', path, {
    body: { metadata: { uid, resourceVersion }, webhooks: all },
    contentType: 'application/merge-patch+json',
  })
  return true
}

async function read(kube: KubeClient, path: string): Promise<KubeObject | undefined> {
  try {
    return await kube.request<KubeObject>('GET', path)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
