// Decides which of the webhook's records of users this worker trusts (workflows/landscaper/steered-by.ts). Source: docs/adr/0054.
//
//   T1. None, unless the operator declares that the webhook handles all such writes: a user who bypasses the webhook could write any record.
//   T2. Records written by runs are recognized by the worker's own user name, which the API server returns.

import type { KubeClient, KubeObject } from '../kube/client.ts'
import type { Deps } from '../deps.ts'
import { ASKED_ANNOTATION } from '../../workflows/landscaper/contract.ts'
import { fieldsOf, textOf } from '../../workflows/landscaper/json-fields.ts'
import { recordedName } from '../../workflows/landscaper/steered-by.ts'

export interface Trust {
  /** Recorded names are proven. */
  readonly isVouched: boolean
  /** The worker's user name; undefined if it is unknown. */
  readonly self?: string | undefined
}

export const NO_TRUST: Trust = { isVouched: false }

const SELF_REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
const SELF_REVIEW = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }

interface SelfReview {
  readonly status?: { readonly userInfo?: { readonly username?: string } }
}

/** @param isVouched the value of the flag `--webhook-vouches`. */
export function createTrust(
  { kube, log }: { readonly kube: Pick<KubeClient, 'request'>; readonly log: Pick<Deps['log'], 'warn'> },
  isVouched: boolean,
): () => Promise<Trust> {
  let self: string | undefined
  return async () => {
    if (!isVouched) return NO_TRUST
    try {
      self ??= (await kube.request<SelfReview>('POST', SELF_REVIEWS, { body: SELF_REVIEW })).status?.userInfo?.username
    } catch (error) {
      log.warn(
        { err: error },
        'Pawl does not know the user name of its worker; it shows the users of pauses as not verified',
      )
    }
    return { isVouched, self }
  }
}

const MAX_NAME_LENGTH = 100
/** The suffix of names without proof. */
export const NOT_VERIFIED = ' (not verified)'

/**
 * The user who set an annotation, and the time, from the object itself.
 *
 *   W1. The object proves nothing, because the author of the annotation may write the other fields, too. So the name is marked as not verified,
 *       except for a trusted record of the webhook.
 * @param what the command's name in its record; the record counts if its reason equals the annotation's value.
 * @param value of an annotation whose value is not a reason.
 */
export function whoAnnotated(
  object: KubeObject,
  annotation: string,
  { what, trust, value }: { readonly what: string; readonly trust: Trust; readonly value?: string },
): { readonly by: string; readonly since?: string } {
  const { metadata } = object
  const { manager, time } =
    (metadata.managedFields ?? []).find(({ fieldsV1 }) =>
      Object.hasOwn(fieldsOf(fieldsV1?.['f:metadata']?.['f:annotations']), `f:${annotation}`),
    ) ?? {}
  const since = time !== undefined && { since: time }
  const proven = trust.isVouched ? recordedName(object, annotation) : undefined
  if (proven !== undefined) return { by: proven, ...since }
  const person = recordedUser(metadata.annotations, annotation, { what, value })
  const by = person ?? (manager === undefined ? 'somebody' : `field manager ${manager.slice(0, MAX_NAME_LENGTH)}`)
  return { by: `${by}${NOT_VERIFIED}`, ...since }
}

/** The user in the command line's record; undefined if the record is missing or about another request. */
function recordedUser(
  annotations: Readonly<Record<string, string>> = {},
  annotation: string,
  { what, value }: { readonly what: string; readonly value: string | undefined },
): string | undefined {
  const asked = fieldsOf(parsed(annotations[ASKED_ANNOTATION]))
  const isOfIt = asked['what'] === what && (value ?? (textOf(asked['why']) || 'true')) === annotations[annotation]
  const by = textOf(asked['by'])
  return isOfIt && by !== '' ? by.slice(0, MAX_NAME_LENGTH) : undefined
}

/** Any user may have written the record. */
function parsed(record: string | undefined): unknown {
  try {
    return JSON.parse(record ?? 'null')
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
