// The ValidatingWebhookConfigurations by which API servers ask: one for each wing that has rules, of which the webhook writes its own entries and
// nothing else.
//
//   V1. An entry is ours by its name; those of others stay, and so does all metadata.
//   V2. What is being deleted is not asked about, nor what changes in metadata or status alone, so that a webhook that is down keeps nothing from going
//       away and holds up nobody who wants something done with what is there.

import { type Admission, canonicalJson, type Kind, type WingAdmission } from '../../workflows/kit/index.ts'
import type { KubeClient, KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { isAlreadyExists, isConflict, isNotFound } from '../../activities/kube/errors.ts'
import type { FailurePolicy, Reached } from './flags.ts'

export const VALIDATE_PATH = '/validate'

const RESOURCE = { apiVersion: 'admissionregistration.k8s.io/v1', plural: 'validatingwebhookconfigurations' }
const NAMESPACE_LABEL = 'kubernetes.io/metadata.name'
const MOST_TRIES = 5

export interface AskedBy {
  readonly reached: Reached
  readonly failurePolicy: FailurePolicy
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

export interface WantedConfiguration {
  readonly name: string
  /** What the names of our entries end in. */
  readonly domain: string
  readonly webhooks: readonly WebhookEntry[]
}

export function wantedConfiguration(
  { configuration, domain, skipLabel }: WingAdmission,
  admissions: readonly Admission[],
  asked: AskedBy,
): WantedConfiguration {
  const { namespace } = asked
  // Every field that the server would fill in stands here, so that what is there can be compared.
  const shared = {
    admissionReviewVersions: ['v1'],
    clientConfig: clientOf(asked),
    failurePolicy: asked.failurePolicy,
    matchPolicy: 'Equivalent',
    namespaceSelector:
      namespace === undefined
        ? {}
        : { matchExpressions: [{ key: NAMESPACE_LABEL, operator: 'In', values: [namespace] }] },
    objectSelector: { matchExpressions: [{ key: skipLabel, operator: 'NotIn', values: ['true'] }] },
    sideEffects: 'None',
    timeoutSeconds: asked.timeoutSeconds,
  }
  const webhooks = admissions.map(({ kind, operations }): WebhookEntry => {
    const { group, version, plural, withoutNamespace = false } = kind
    const scope = withoutNamespace ? 'Cluster' : 'Namespaced'
    const rules = [
      { apiGroups: [group], apiVersions: [version], operations: [...operations], resources: [plural], scope },
    ]
    return { name: `${plural}.${domain}`, rules, matchConditions: conditionsOf(kind), ...shared }
  })
  return { name: namespace === undefined ? configuration : `${configuration}-${namespace}`, domain, webhooks }
}

/** V2, in CEL. The process itself judges by the same (review.ts, R1). */
function conditionsOf({ schema }: Kind) {
  const changes = Object.keys(schema).flatMap((field) => {
    const [now, before] = [`object.${field}`, `oldObject.${field}`]
    return field === 'status' ? [] : [`has(${now}) != has(${before}) || (has(${now}) && ${now} != ${before})`]
  })
  return [
    { name: 'is-not-being-deleted', expression: '!has(object.metadata.deletionTimestamp)' },
    { name: 'is-new-or-changed', expression: ['oldObject == null', ...changes].join(' || ') },
  ]
}

function clientOf({ reached, bundle }: AskedBy) {
  const caBundle = Buffer.from(bundle).toString('base64')
  if ('url' in reached) return { caBundle, url: `${reached.url}${VALIDATE_PATH}` }
  return { caBundle, service: { ...reached.service, path: VALIDATE_PATH, port: 443 } }
}

/** Makes the server's configuration as wanted. @returns whether something had to be written. */
export async function bringConfiguration(kube: KubeClient, wanted: WantedConfiguration): Promise<boolean> {
  for (let tries = 1; ; tries++) {
    try {
      return await bring(kube, wanted)
    } catch (error) {
      if (tries === MOST_TRIES || !(isConflict(error) || isAlreadyExists(error))) throw error
    }
  }
}

async function bring(kube: KubeClient, { name, domain, webhooks }: WantedConfiguration): Promise<boolean> {
  const found = await read(kube, name)
  if (found === undefined) {
    const body = {
      ...{ apiVersion: RESOURCE.apiVersion, kind: 'ValidatingWebhookConfiguration' },
      metadata: { name },
      webhooks,
    }
    await kube.request('POST', resourcePath(RESOURCE, undefined), { body })
    return true
  }
  const entries = (found['webhooks'] ?? []) as readonly WebhookEntry[]
  const others = entries.filter((one) => !one.name.endsWith(`.${domain}`))
  const all = [...others, ...webhooks]
  if (canonicalJson(entries) === canonicalJson(all)) return false
  const { uid, resourceVersion } = found.metadata
  await kube.request('PATCH', resourcePath(RESOURCE, undefined, name), {
    body: { metadata: { uid, resourceVersion }, webhooks: all },
    contentType: 'application/merge-patch+json',
  })
  return true
}

async function read(kube: KubeClient, name: string): Promise<KubeObject | undefined> {
  try {
    return await kube.request<KubeObject>('GET', resourcePath(RESOURCE, undefined, name))
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
