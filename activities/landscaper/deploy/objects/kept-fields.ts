// The fields of the live object that a replacement keeps, because servers and controllers have set them, and reject or break without them. Pure.
// Source: spec/landscaper.md 4.2 `update`: Job selector and pod labels, Service clusterIP(s), ServiceAccount secrets. The other fields follow from
// the API's rules of immutability: node ports, bound volumes, the fields of a running pod.

import { isMap, type Json } from './config-reader.ts'
import { overlaid } from './overlay.ts'

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
    const kept = [
      ...addresses,
      ...(isLocal ? ['healthCheckNodePort'] : []),
      ...(isBalanced ? ['loadBalancerClass'] : []),
    ]
    const spec = withAbsent(to, from, kept)
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
  const kept = keys.filter((key) => (to[key] ?? '') === '' && from[key] !== undefined).map((key) => [key, from[key]])
  return { ...to, ...(Object.fromEntries(kept) as Json) }
}

function mapAt(value: Json, key: string): Json {
  const inner = value[key]
  return isMap(inner) ? inner : {}
}

function groupOf({ apiVersion }: Json): string {
  return typeof apiVersion === 'string' && apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
}
