// The configurations by which API servers ask: a ValidatingWebhookConfiguration for each wing that has rules, and a MutatingWebhookConfiguration where
// these change objects. The webhook writes its own entries of them and nothing else.
//
//   V1. An entry is ours by its name; those of others stay, and so does all metadata.
//   V2. What is being deleted is not client about, nor what changes in metadata or status alone, so that a webhook that is down keeps nothing from going
//       away and holds up nobody who wants something done with what is there.
//   V3. Mutations are client of what they say (client-writes.ts). A webhook that is down keeps such writes back only where the operator wants it so.
//   V4. What rules about metadata are client of passes while no webhook answers: it may be the end of a deletion.
//   V5. Who deletes is not client but heard of, where a wing counts that: the answer is always yes, and so it is when none comes within a second.

import {
  type Admission,
  canonicalJson,
  type AskedKind,
  type Mutation,
  type WingAdmission,
} from '../../workflows/kit/index.ts'
import type { KubeClient, KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { isAlreadyExists, isConflict, isNotFound } from '../../activities/kube/errors.ts'
import { matchConditionInCel, newOrChangedInCel, NOT_BEING_DELETED } from './match-conditions.ts'
import type { FailurePolicy, WebhookAddress } from './flags.ts'

export const VALIDATE_PATH = '/validate'
/** The same answers. Who is client by two entries about one write can tell them apart. */
export const VALIDATE_METADATA_PATH = '/validate/metadata'
export const MUTATE_PATH = '/mutate'

const API = 'admissionregistration.k8s.io/v1'
const PLURALS = {
  ValidatingWebhookConfiguration: 'validatingwebhookconfigurations',
  MutatingWebhookConfiguration: 'mutatingwebhookconfigurations',
} as const
const NAMESPACE_LABEL = 'kubernetes.io/metadata.name'
const MAX_TRIES = 5
/** V5: the least that API servers wait. */
const DELETION_NOTICE_SECONDS = 1

export interface WebhookClient {
  readonly address: WebhookAddress
  readonly failurePolicy: FailurePolicy
  /** Of mutations that leave it to the operator. */
  readonly recordPolicy: FailurePolicy
  readonly timeoutSeconds: number
  /** Undefined: all. */
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
  /** What the names of our entries end in. */
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
  // V5. What is being deleted already is deleted once more by who is impatient.
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
    const matchConditions = [{ name: 'is-asked-about', expression: matchConditionInCel(metadata.asked, kind) }]
    // V4
    const ofMetadata = { name: `${kind.plural}.metadata.${domain}`, rules, matchConditions }
    const clientConfig = clientConfigOf(client, VALIDATE_METADATA_PATH)
    return [...entries, { ...ofMetadata, ...shared, clientConfig, failurePolicy: 'Ignore' }]
  })
  return { kind: 'ValidatingWebhookConfiguration', name: nameFor(configuration, client), domain, webhooks }
}

/** Undefined: no rule of the wing changes anything. */
export function mutatingConfiguration(
  { mutation }: WingAdmission,
  admissions: readonly Admission[],
  client: WebhookClient,
): DesiredConfiguration | undefined {
  const all = admissions.flatMap((admission) => (admission.mutations ?? []).map((entry) => [admission, entry] as const))
  if (mutation === undefined || all.length === 0) return undefined
  const { configuration, domain } = mutation
  // Whoever changes the object after us is followed by us again.
  const shared = { ...sharedFields(client, MUTATE_PATH), reinvocationPolicy: 'IfNeeded' }
  const webhooks = all.map(([admission, entry]): WebhookEntry => {
    const name = `${admission.kind.plural}.${entry.name}.${domain}`
    const matchConditions = [{ name: 'is-asked-about', expression: matchConditionInCel(entry.asked, admission.kind) }]
    const { labelled } = admission
    const objectSelector = labelled === undefined ? {} : { matchExpressions: [{ key: labelled, operator: 'Exists' }] }
    const failurePolicy = policyOf(entry, client)
    return { name, rules: rulesOf(admission), matchConditions, objectSelector, failurePolicy, ...shared }
  })
  return { kind: 'MutatingWebhookConfiguration', name: nameFor(configuration, client), domain, webhooks }
}

function policyOf({ whenAway }: Mutation, { failurePolicy, recordPolicy }: WebhookClient): FailurePolicy {
  switch (whenAway) {
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

/** Every field that the server would fill in stands in an entry, so that what is there can be compared. */
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

function rulesOf({ kind, operations }: { readonly kind: AskedKind; readonly operations: readonly string[] }) {
  const { group, version, plural, withoutNamespace = false } = kind
  const scope = withoutNamespace ? 'Cluster' : 'Namespaced'
  return [{ apiGroups: [group], apiVersions: [version], operations: [...operations], resources: [plural], scope }]
}

/** V2, in CEL. The process itself judges by the same (review.ts, R1). */
function matchConditionsOf(kind: AskedKind) {
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

/** Makes the server's configuration as desired. @returns whether something had to be written. */
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
