// What a target's server answers, looked at before it is used: the server may be broken, or somebody's who means no good.
//
//   W1. An answer that is not what the API promises is a failure that is tried again, as if there were none.

import type { KubeClient, KubeObject } from '../../../kube/client.ts'
import { KubeError } from '../../../kube/errors.ts'
import { readPages } from '../../../kube/pages.ts'
import { isNestedDeeper } from '../objects/nesting.ts'
import { isMap } from '../objects/readiness/field-reader.ts'

const PAGE_SIZE = 200
const MOST_PAGES = 500
const MAX_LIST_BYTES = 16 * 1024 * 1024
/** As many objects as are read of one list. */
export const MOST_OBJECTS = PAGE_SIZE * MOST_PAGES
// What is deeper could not be written again.
const DEEPEST_OBJECT = 500

/** Why a request has no answer that can be used. */
export type Request = readonly [method: string, path: string]

/** The answer as an object. @throws KubeError `Unreachable` */
export function objectOf(answer: unknown, [method, path]: Request): KubeObject {
  if (isObject(answer) && !isNestedDeeper(answer, DEEPEST_OBJECT)) return answer
  throw KubeError.unreachable(method, path, 'the answer is no object of Kubernetes')
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
  /** What is thrown when there are more than MOST_OBJECTS. */
  readonly tooMany: () => Error
}

/** The objects of a collection, page after page, in smaller ones where they are too large. @throws KubeError */
export async function* listed(
  kube: Pick<KubeClient, 'request'>,
  path: string,
  { labelSelector, signal, tooMany }: ListOptions,
): AsyncIterable<KubeObject> {
  const query = labelSelector === undefined ? {} : { labelSelector }
  let left = MOST_OBJECTS
  for await (const page of readPages(kube, path, { query, limit: PAGE_SIZE, signal, mostBytes: MAX_LIST_BYTES })) {
    // A server may send empty pages for ever, so they count as full ones.
    if (left <= 0) throw tooMany()
    left -= page.limit ?? PAGE_SIZE
    const { items } = page as { readonly items: unknown }
    if (!Array.isArray(items)) throw KubeError.unreachable('GET', path, 'the answer is no list')
    for (const item of items as readonly unknown[]) yield objectOf(item, ['GET', path])
  }
}
