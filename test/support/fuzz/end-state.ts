// The end state of a history, in a form that tests can compare with the end state of another history: specifications,
// results of the last jobs, exports and deployed objects, without generations, times, conditions, job IDs and errors of
// previous jobs. Source: spec/engine.md 4.3, A4.

import { gunzipSync } from 'node:zlib'

import type { KubeObject } from '../../../activities/kube/client.ts'
import { ITEM_NAME_LABEL, KEY_LABEL } from '../../../workflows/landscaper/contract.ts'
import { API, type Cluster, type LsObject } from '../cluster/cluster.ts'

const LISTS: readonly (readonly [plural: string, apiVersion: string])[] = [
  ['installations', API],
  ['executions', API],
  ['deployitems', API],
  ['dataobjects', API],
  ['targets', API],
  ['secrets', 'v1'],
  ['configmaps', 'v1'],
]
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g
const OUTCOME = ['phase', 'lastError', 'executionRef', 'exportRef', 'deployItemCache', 'providerStatus'] as const

/** The objects of the Installation's tree, its exports and its deployed objects, without varying names and times. */
export async function endState(cluster: Cluster, name: string): Promise<readonly unknown[]> {
  const lists = await Promise.all(
    LISTS.map(async ([plural, apiVersion]) =>
      (await cluster.list(plural, apiVersion)).map((object) => ({ object, role: roleOf(plural, object) })),
    ),
  )
  const all = lists.flat()
  const objects = all.map(({ object }) => object)
  const found = all.filter(({ object }) => isOf(name, object, objects))
  const names = found.flatMap(({ object: { metadata }, role }): [string, string][] => [
    [metadata.uid ?? '', `<uid of ${role}>`],
    ...(metadata.name === name ? [] : [[metadata.name, `<${role}>`] as [string, string]]),
  ])
  // Longer names first, because a name may begin with another name.
  names.sort(([left], [right]) => right.length - left.length)
  const empty = found.filter(({ object, role }) => role === 'executions' && isEmpty(object)).map(({ object }) => object)
  const counted = found.filter(({ object }) => !empty.includes(object))
  const texts = counted.map(({ object, role }) =>
    names
      .reduce((text, [from, to]) => text.replaceAll(from, to), JSON.stringify({ role, ...shown(object, empty) }))
      .replaceAll(name, '<name>')
      .replaceAll(UUID, '<uuid>')
      .replaceAll(TIME, '<time>'),
  )
  return texts.sort().map((text) => JSON.parse(text) as unknown)
}

/**
 * Whether the object belongs to the Installation: it has no owner and has the name as its name or prefix, or one of its
 * owners belongs to the Installation. The garbage collector deletes objects whose owners are gone.
 */
function isOf(name: string, { metadata }: KubeObject, all: readonly KubeObject[]): boolean {
  const owners = metadata.ownerReferences ?? []
  if (owners.length === 0) return metadata.name === name || metadata.name.startsWith(`${name}-`)
  const parents = all.filter((one) => owners.some(({ uid }) => uid === one.metadata.uid))
  return parents.some((parent) => isOf(name, parent, all))
}

function roleOf(plural: string, { metadata }: LsObject): string {
  const { labels = {} } = metadata
  const known = labels[ITEM_NAME_LABEL] ?? labels[KEY_LABEL]
  return known === undefined ? plural : `${plural} ${known}`
}

/** Whether an Execution is empty. It remains after the removal of its last item; Pawl creates none without items. */
function isEmpty({ spec, status }: LsObject): boolean {
  const items = (unpacked(spec) as { readonly deployItemsCompressed?: unknown } | undefined)?.deployItemsCompressed
  return Array.isArray(items) && items.length === 0 && status?.phase === 'Succeeded'
}

/** @param empty Executions that are treated as missing. */
function shown(object: LsObject, empty: readonly LsObject[]): object {
  const { metadata, spec, status, data } = object as LsObject & { readonly data?: unknown }
  const { name, labels, finalizers, ownerReferences, deletionTimestamp } = metadata
  const isLed = (field: string) => !(field === 'executionRef' && empty.some((one) => one.metadata.name === name))
  const outcome = Object.fromEntries(OUTCOME.filter(isLed).map((field) => [field, status?.[field]]))
  const isSecret = object.apiVersion === undefined && typeof data === 'object' && data !== null
  return {
    metadata: { name, labels, finalizers, ownerReferences, deletionTimestamp },
    spec: unpacked(spec),
    outcome,
    data: isSecret ? decoded(data) : data,
  }
}

/** Decompresses the list of items, because it contains names of objects. */
function unpacked(spec: Readonly<Record<string, unknown>> | undefined): unknown {
  const packed = spec?.['deployItemsCompressed']
  if (typeof packed !== 'string') return spec
  return { ...spec, deployItemsCompressed: JSON.parse(gunzipSync(Buffer.from(packed, 'base64')).toString()) as unknown }
}

function decoded(data: object): unknown {
  const texts = Object.entries(data as Readonly<Record<string, string>>)
  return Object.fromEntries(texts.map(([key, text]) => [key, [text, Buffer.from(text, 'base64').toString()]]))
}
