// Creates objects in a cluster as another engine has left them, with owner references, statuses and deletions. In the
// file, owners precede their dependents.

import { readFile } from 'node:fs/promises'
import { parseAllDocuments } from 'yaml'
import type { KubeObject } from '../../../activities/kube/client.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import type { Cluster } from '../cluster/cluster.ts'

type Left = KubeObject & { readonly apiVersion: string; readonly kind: string; readonly status?: object }

/** Kinds without a status subresource. */
const WITHOUT_STATUS = new Set(['DataObject', 'Target', 'Context', 'Secret'])

/** Timestamps in the format of the Kubernetes API. */
const TIMES = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g

/**
 * Creates the objects of the file in the cluster's namespace, with times as if the other engine had just stopped. Sets
 * the uids of owner references, which the file does not contain.
 */
export async function createPreviousObjects(cluster: Cluster, file: URL): Promise<void> {
  const text = leftNow(await readFile(file, 'utf8'), Date.now())
  const objects = parseAllDocuments(text).map((document) => document.toJS() as Left)
  const uids = new Map<string, string>()
  for (const object of objects) uids.set(keyOf(object), await make(cluster, object, uids))
  const leaving = objects.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
  for (const { kind, metadata } of leaving) await cluster.delete(pluralOf(kind), metadata.name)
}

/** Moves all times by the same span, so that the latest is now: deadlines of unfinished jobs depend on these times. */
function leftNow(text: string, now: number): string {
  const latest = Math.max(...[...text.matchAll(TIMES)].map(([time]) => Date.parse(time)))
  return text.replaceAll(TIMES, (time) => new Date(Date.parse(time) + now - latest).toISOString())
}

async function make(cluster: Cluster, { status, ...object }: Left, uids: ReadonlyMap<string, string>): Promise<string> {
  const { ownerReferences = [], ...metadata } = object.metadata
  const owners = ownerReferences.map((owner) => ({ ...owner, uid: uids.get(keyOf({ ...owner, metadata: owner })) }))
  const plural = pluralOf(object.kind)
  const path = resourcePath({ apiVersion: object.apiVersion, plural }, cluster.namespace)
  const body = { ...object, metadata: { ...metadata, namespace: cluster.namespace, ownerReferences: owners } }
  const { uid = '' } = (await cluster.kube.request<KubeObject>('POST', path, { body })).metadata
  if (status !== undefined && !WITHOUT_STATUS.has(object.kind))
    await cluster.patch(plural, metadata.name, { status }, 'status')
  return uid
}

function keyOf({ kind, metadata }: { readonly kind: string; readonly metadata: { readonly name: string } }): string {
  return `${kind}/${metadata.name}`
}

function pluralOf(kind: string): string {
  return `${kind.toLowerCase()}s`
}
