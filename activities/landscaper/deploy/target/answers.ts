// Validates the answers of a target's server before use, because the server may be broken or malicious.
//
//   W1. An answer that violates the API's format is a retryable failure, like a missing answer.

import type { KubeClient, KubeObject } from '../../../kube/client.ts'
import { KubeError } from '../../../kube/errors.ts'
import { readPages } from '../../../kube/pages.ts'
import { isNestedDeeper } from '../objects/nesting.ts'
import { isMap } from '../objects/readiness/field-reader.ts'
import { configurationProblem } from '../run/deploy-errors.ts'

const PAGE_SIZE = 200
const MAX_PAGES = 500
const MAX_LIST_BYTES = 16 * 1024 * 1024
/** The maximum number of objects that are read from one list. */
export const MAX_OBJECTS = PAGE_SIZE * MAX_PAGES
// Deeper objects could not be serialized again.
const MAX_DEPTH = 500

/** The request, for the message of an invalid answer. */
export type Request = readonly [method: string, path: string]

/** The answer as an object. @throws KubeError `Unreachable` */
export function objectOf(answer: unknown, [method, path]: Request): KubeObject {
  if (isObject(answer) && !isNestedDeeper(answer, MAX_DEPTH)) return answer
  throw KubeError.unreachable(method, path, 'the answer is not a Kubernetes object')
}

function isObject(value: unknown): value is KubeObject {
  if (!isMap(value) || !isMap(value['metadata'])) return false
  const { name, namespace, uid, resourceVersion, labels, annotations, finalizers, deletionTimestamp } =
    value['metadata']
  const isUsual =
    isText(name) &&
    [namespace, uid, resourceVersion, deletionTimestamp, value['apiVersion'], value['kind']].every(isOptional)
  const isTagged = [labels, annotations].every(
    (map) => map === undefined || (isMap(map) && Object.values(map).every(isText)),
  )
  return isUsual && isTagged && (finalizers === undefined || (Array.isArray(finalizers) && finalizers.every(isText)))
}

const isText = (value: unknown): value is string => typeof value === 'string'
const isOptional = (value: unknown) => value === undefined || isText(value)

interface ListOptions {
  readonly labelSelector?: string
  readonly signal: AbortSignal
  /** Creates the error for more than MOST_OBJECTS objects. */
  readonly tooMany: () => Error
}

/** The objects of a collection, page by page; too large pages are requested in smaller ones. @throws KubeError */
export async function* listObjects(
  kube: Pick<KubeClient, 'request'>,
  path: string,
  { labelSelector, signal, tooMany }: ListOptions,
): AsyncIterable<KubeObject> {
  const query = labelSelector === undefined ? {} : { labelSelector }
  let left = MAX_OBJECTS
  for await (const page of readPages(kube, path, { query, limit: PAGE_SIZE, signal, mostBytes: MAX_LIST_BYTES })) {
    // Empty pages count as full ones, because a server may send empty pages forever.
    if (left <= 0) throw tooMany()
    left -= page.limit ?? PAGE_SIZE
    const { items } = page as { readonly items: unknown }
    if (!Array.isArray(items)) throw KubeError.unreachable('GET', path, 'the answer is not a list')
    for (const item of items as readonly unknown[]) yield objectOf(item, ['GET', path])
  }
}

// Limits the size of tokens and kubeconfigs that a server issues, because they are kept in memory, passed to templates and written into Secrets.

const MAX_ISSUED_BYTES = 64 * 1024

/** @throws DeployError that ends the job; its message has only the size. */
export function checkIssuedSize(what: 'token' | 'kubeconfig', text: string): void {
  const bytes = Buffer.byteLength(text)
  if (bytes <= MAX_ISSUED_BYTES) return
  const message = `found a ${what} of ${bytes} bytes; expected at most ${MAX_ISSUED_BYTES}`
  throw configurationProblem('IssueKubeconfig', 'KubeconfigNotIssued', message)
}
