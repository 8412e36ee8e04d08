// Finds the orphan of an item that holds a resource for which the API server rejects one of the item's new objects: a port or an address of a
// Service, a quota, a host, the role of the only default class. It is removed before the apply is tried again; every other orphan is removed after
// the apply.
//
//   K1. Only orphans of the same item are considered, and only those that the item may delete by label, uid and policy.
//   K2. An orphan counts as the holder only on evidence: it has the contested value itself, or the server's message names it.

import type { KubeObject } from '../../../kube/client.ts'
import type { KubeError } from '../../../kube/errors.ts'
import { inParallel } from '../../../kube/in-parallel.ts'
import { servedInAnyVersion } from '../target/discovery.ts'
import { readServed } from '../target/read-object.ts'
import { groupOf, type TargetCluster } from '../target/target-cluster.ts'
import type { ItemLabels } from './ownership-labels.ts'
import { isMap, type Json } from './config-reader.ts'
import type { ManagedResource } from './managed-resources.ts'
import type { Desired } from './manifest.ts'
import { isToDelete } from './remove-object.ts'

const READS_AT_ONCE = 10

/** A new object that the API server rejects. */
export interface Rejection {
  readonly object: Desired
  readonly error: KubeError
}

interface Orphan {
  readonly managed: ManagedResource
  readonly live: KubeObject
}

export interface BlockerSearch {
  readonly target: TargetCluster
  readonly mark: ItemLabels
  readonly orphans: readonly ManagedResource[]
  readonly rejections: readonly Rejection[]
  readonly signal: AbortSignal
}

/** The first orphan that holds a resource that a rejected object needs; undefined if none does. @throws KubeError, DeployError */
export async function blockingOrphan(search: BlockerSearch): Promise<ManagedResource | undefined> {
  const rejections = search.rejections.filter(({ error }) => isRejection(error))
  if (rejections.length === 0 || search.orphans.length === 0) return undefined
  const orphans = await liveOrphans(search)
  const isHolder = (orphan: Orphan) => rejections.some((rejection) => holds(orphan, rejection))
  return orphans.find(isHolder)?.managed
}

async function liveOrphans({ target, mark, orphans, signal }: BlockerSearch): Promise<readonly Orphan[]> {
  const read = await inParallel(orphans, READS_AT_ONCE, async (managed): Promise<Orphan | undefined> => {
    const served = await servedInAnyVersion(target, managed.resource, signal)
    const live = served && (await readServed(target, { served, ...managed.resource, signal }))
    return live !== undefined && isToDelete(managed, live, mark) ? { managed, live } : undefined
  })
  return read.filter((orphan) => orphan !== undefined)
}

const REJECTED: ReadonlySet<number> = new Set([400, 403, 409, 422])

const isRejection = ({ status, isDenial }: KubeError) => isDenial || REJECTED.has(status)

function holds(orphan: Orphan, { object, error }: Rejection): boolean {
  // A message may have any length.
  const message = error.message.slice(0, 2000)
  return (
    holdsQuota(orphan, object, message) ||
    holdsPort(orphan, object, message) ||
    isOtherDefault(orphan, object, message) ||
    holdsHost(orphan, object, message) ||
    isNamed(orphan, object, message)
  )
}

const isSameKind = ({ managed: { resource } }: Orphan, { apiVersion, kind }: Desired) =>
  resource.kind === kind && groupOf(resource.apiVersion) === groupOf(apiVersion)

/** A quota counts objects of one kind in one namespace, or their requests. */
function holdsQuota(orphan: Orphan, object: Desired, message: string): boolean {
  const isInPlace = orphan.managed.resource.namespace === object.metadata.namespace
  return /\bexceeded quota\b/.test(message) && isInPlace && isSameKind(orphan, object)
}

const SERVICE_FIELD = /spec\.(?:ports\[\d+\]\.nodePort|healthCheckNodePort|clusterIPs?)\b/

function holdsPort(orphan: Orphan, object: Desired, message: string): boolean {
  if (object.kind !== 'Service' || !isSameKind(orphan, object) || !SERVICE_FIELD.test(message)) return false
  return shares(contestedIn(orphan.live), contestedIn(object))
}

/** The ports and addresses of a Service that must be unique in the cluster. */
function contestedIn(service: Json): readonly string[] {
  const spec = mapIn(service, 'spec')
  const ports = listIn(spec, 'ports').filter(isMap)
  // Equal numbers of two protocols are different ports.
  const nodePorts = ports.flatMap(({ nodePort, protocol = 'TCP' }) =>
    labelled(`nodePort ${String(protocol)}`, nodePort),
  )
  const addresses = [spec['clusterIP'], ...listIn(spec, 'clusterIPs')].filter((one) => one !== 'None')
  return [
    ...nodePorts,
    ...labelled('healthCheckNodePort', spec['healthCheckNodePort']),
    ...addresses.flatMap((one) => labelled('clusterIP', one)),
  ]
}

/** The annotation of the default IngressClass and StorageClass. */
const DEFAULT_ANNOTATION = /(?:^|[./])is-default-class$/

/** "2 default IngressClasses were found, only 1 allowed": an Ingress may be rejected because of another kind's class. */
function isOtherDefault(orphan: Orphan, object: Desired, message: string): boolean {
  if (!/\bdefault\b/i.test(message) || !isDefault(orphan.live)) return false
  if (isSameKind(orphan, object)) return isDefault(object)
  const { kind } = orphan.managed.resource
  return message.includes(kind)
}

function isDefault(object: Json): boolean {
  if (object['globalDefault'] === true) return true
  const annotations = mapIn(mapIn(object, 'metadata'), 'annotations')
  return Object.entries(annotations).some(([key, value]) => DEFAULT_ANNOTATION.test(key) && value === 'true')
}

const TAKEN = /\b(?:already|duplicated?|conflicts?|in use|taken|unique|claimed|collides?)\b/i

/** Controllers of Ingresses and Routes deny a host that another object has. */
function holdsHost(orphan: Orphan, object: Desired, message: string): boolean {
  return TAKEN.test(message) && isSameKind(orphan, object) && shares(hostsIn(orphan.live), hostsIn(object))
}

function hostsIn(object: Json): readonly string[] {
  const spec = mapIn(object, 'spec')
  const rules = listIn(spec, 'rules').filter(isMap)
  const hosts = [
    spec['host'],
    mapIn(spec, 'virtualhost')['fqdn'],
    ...listIn(spec, 'hostnames'),
    ...listIn(spec, 'hosts'),
  ]
  return [...hosts, ...rules.map(({ host }) => host)].filter(
    (host): host is string => typeof host === 'string' && host !== '',
  )
}

/** The message names the orphan, and reports that it has the value. */
function isNamed(orphan: Orphan, object: Desired, message: string): boolean {
  const { name } = orphan.managed.resource
  if (!TAKEN.test(message) || !isSameKind(orphan, object)) return false
  // Without the name of the rejected object, which may contain the orphan's name.
  const words = message
    .split(object.metadata.name)
    .join(' ')
    .split(/[^\w.-]+/)
  return words.some((word) => word.replace(/\.$/, '') === name)
}

function shares(one: readonly string[], other: readonly string[]): boolean {
  return one.some((value) => other.includes(value))
}

function labelled(label: string, value: unknown): string[] {
  return (typeof value === 'number' && value !== 0) || (typeof value === 'string' && value !== '')
    ? [`${label} ${value}`]
    : []
}

function mapIn(object: Json, field: string): Json {
  const value = object[field]
  return isMap(value) ? value : {}
}

function listIn(object: Json, field: string): readonly unknown[] {
  const value = object[field]
  return Array.isArray(value) ? value : []
}
