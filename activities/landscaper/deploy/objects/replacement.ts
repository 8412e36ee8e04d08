// Computes the complete object that replaces a live one. Pure.
//
//   R1. Finalizers, owners and status belong to other controllers, unless the manifest sets them.
//   R2. Fields that servers have set, and reject or break without, stay (replacement.ts).

import type { KubeObject } from '../../../kube/client.ts'
import { isMap, type Json } from './config-reader.ts'
import type { Manifest } from './manifest.ts'
import { type Owners, withOthersFields } from './others-fields.ts'
import { overlaid } from './overlay.ts'

/** `wanted` with the fields of other owners, on the version of the live object. */
export function replacement(
  live: KubeObject,
  wanted: Json,
  { manifest, owners }: { readonly manifest: Manifest; readonly owners: Owners },
): Json {
  const own = isMap(wanted['metadata']) ? wanted['metadata'] : {}
  const { labels, annotations, finalizers, ownerReferences } = live.metadata
  const held = Object.entries({ finalizers, ownerReferences }).filter(([, value]) => value !== undefined)
  const spoken = held.filter(([key]) => own[key] !== undefined)
  const written = { ...without(live, ['status']), metadata: { labels, annotations, ...Object.fromEntries(spoken) } }
  const merged = withOthersFields(written, wanted, owners) as Json
  const metadata = merged['metadata'] as Json & { annotations?: Json }
  const created = Object.keys(manifest.annotateBeforeCreate).filter((key) => annotations?.[key] !== undefined)
  const createdAnnotations = Object.fromEntries(created.map((key) => [key, annotations?.[key]]))
  return {
    ...(live['status'] !== undefined && { status: live['status'] }),
    ...withKeptFields(live, merged),
    metadata: {
      ...Object.fromEntries(held),
      ...metadata,
      annotations: { ...createdAnnotations, ...metadata.annotations },
      ...version(live),
    },
  }
}

/** Only the metadata that clients write, because the server's own fields cannot be removed. */
export function comparable(object: Json, { object: desired }: Manifest): Json {
  const { status, metadata, ...rest } = object
  const own = isMap(metadata) ? metadata : {}
  const { labels, annotations, finalizers, ownerReferences } = own
  return {
    ...rest,
    ...(desired['status'] !== undefined && { status }),
    metadata: { labels, annotations, finalizers, ownerReferences },
  }
}

export function without(object: object, keys: readonly string[]): Json {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)))
}

/** C2 in changes.ts. */
export function version({ metadata }: KubeObject): Json {
  return { uid: metadata.uid, resourceVersion: metadata.resourceVersion }
}

// The fields of the live object that a replacement keeps, because servers and controllers have set them, and reject or break without them. Pure.
// Source: spec/landscaper.md 4.2 `update`: Job selector and pod labels, Service clusterIP(s), ServiceAccount secrets. The other fields follow from
// the API's rules of immutability: node ports, bound volumes, the fields of a running pod.

/** `wanted` with the fields of `live` that it must keep. */
export function withKeptFields(live: Json, wanted: Json): Json {
  const keep = KEEPERS[`${groupOf(wanted)}/${String(wanted['kind'])}`]
  return keep === undefined ? wanted : keep(live, wanted)
}

type Keeper = (live: Json, wanted: Json) => Json

const KEEPERS: Readonly<Record<string, Keeper>> = {
  'batch/Job': keepJob,
  '/Service': keepService,
  '/ServiceAccount': (live, wanted) => withAbsent(wanted, live, ['secrets', 'imagePullSecrets']),
  '/PersistentVolumeClaim': keepAbsentSpec,
  '/PersistentVolume': (live, wanted) => inSpec(live, wanted, (from, to) => withAbsent(to, from, ['claimRef'])),
  '/Pod': (live, wanted) => inSpec(live, wanted, (from, to) => overlaid(from, to) as Json),
  '/Namespace': keepAbsentSpec,
  // A controller aggregates the rules of such a role.
  'rbac.authorization.k8s.io/ClusterRole': (live, wanted) =>
    wanted['aggregationRule'] !== undefined && isEmpty(wanted['rules']) ? { ...wanted, rules: live['rules'] } : wanted,
}

function keepAbsentSpec(live: Json, wanted: Json): Json {
  return inSpec(live, wanted, (from, to) => ({ ...from, ...to }))
}

function keepJob(live: Json, wanted: Json): Json {
  return inSpec(live, wanted, (from, to) => {
    const template = mapAt(to, 'template')
    const labels = mapAt(mapAt(mapAt(from, 'template'), 'metadata'), 'labels')
    const metadata = { ...mapAt(template, 'metadata'), labels }
    return { ...to, selector: from['selector'], template: { ...template, metadata } }
  })
}

function keepService(live: Json, wanted: Json): Json {
  return inSpec(live, wanted, (from, to) => {
    if (to['type'] === 'ExternalName' || from['type'] === 'ExternalName') return to
    const addresses = (to['clusterIP'] ?? '') === '' ? ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy'] : []
    const hasNodePorts = ['NodePort', 'LoadBalancer'].includes(String(to['type']))
    const isLocal = hasNodePorts && to['externalTrafficPolicy'] === 'Local'
    const isBalanced = to['type'] === 'LoadBalancer' && from['type'] === 'LoadBalancer'
    const preservedFields = [
      ...addresses,
      ...(isLocal ? ['healthCheckNodePort'] : []),
      ...(isBalanced ? ['loadBalancerClass'] : []),
    ]
    const spec = withAbsent(to, from, preservedFields)
    return hasNodePorts ? { ...spec, ports: withNodePorts(to['ports'], from['ports']) } : spec
  })
}

function withNodePorts(wanted: unknown, live: unknown): unknown {
  if (!Array.isArray(wanted) || !Array.isArray(live)) return wanted
  return wanted.map((port: unknown) => {
    if (!isMap(port) || port['nodePort'] !== undefined) return port
    const isSame = (other: unknown): other is Json =>
      isMap(other) && other['port'] === port['port'] && protocol(other) === protocol(port)
    const nodePort = live.find(isSame)?.['nodePort']
    return nodePort === undefined ? port : { ...port, nodePort }
  })
}

const protocol = (port: Json) => port['protocol'] ?? 'TCP'

const isEmpty = (list: unknown) => (list ?? []) instanceof Array && ((list ?? []) as unknown[]).length === 0

function inSpec(live: Json, wanted: Json, change: (from: Json, to: Json) => Json): Json {
  return { ...wanted, spec: change(mapAt(live, 'spec'), mapAt(wanted, 'spec')) }
}

function withAbsent(to: Json, from: Json, keys: readonly string[]): Json {
  const preserved = keys
    .filter((key) => (to[key] ?? '') === '' && from[key] !== undefined)
    .map((key) => [key, from[key]])
  return { ...to, ...(Object.fromEntries(preserved) as Json) }
}

function mapAt(value: Json, key: string): Json {
  const inner = value[key]
  return isMap(inner) ? inner : {}
}

function groupOf({ apiVersion }: Json): string {
  return typeof apiVersion === 'string' && apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
}
