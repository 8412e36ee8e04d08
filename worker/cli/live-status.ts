// Reads from the API server, with the user's rights, what the journal does not store about objects that wait or have
// failed: the object that is not ready, the error of an item, and the reasons why pods are not ready.
//
//   L1. A deployed object is read only from the cluster of the kubeconfig, and only an object with the same uid counts:
//       a Target may be another cluster with objects of the same names.
//   L2. A failed read is a problem for stderr; the command prints what the journal has.

import { resourcePath } from '../../activities/kube/resource-path.ts'
import type { KubeClient, KubeObject, ObjectList } from '../../activities/kube/client.ts'
import { inParallel } from '../../activities/kube/in-parallel.ts'
import { KubeError } from '../../activities/kube/kube-error.ts'
import type { AwaitedObject } from '../../activities/journal/read/event-queries.ts'
import type { ObjectRecord } from '../../activities/journal/read/object-queries.ts'
import { type DeployedObject, fieldsOf, listOf, type StatusExplanation, textOf } from '../../workflows/kit/index.ts'
import { isRedacted } from '../api/redaction.ts'
import { withUserClient, type UserFlags } from './user.ts'
import { explainStatus, isExplained, resourceOfKind } from './query/explain-status.ts'
import { type PodObject, type PodProblem, podProblems } from './query/pod-problems.ts'

export interface LiveStatus extends StatusExplanation {
  /** Reasons why pods of deployed objects are not ready. */
  readonly pods: readonly PodProblem[]
}

export interface LiveStatuses {
  /** By uid of the object. */
  readonly statuses: ReadonlyMap<string, LiveStatus>
  /** Distinct reasons why statuses are missing. */
  readonly problems: readonly string[]
}

/** Limits of one command. */
const MOST_READ = 100
const AT_ONCE = 10
const MOST_MS = 10_000

/** The objects that an object watches, by its uid. */
export type Watched = ReadonlyMap<string, readonly AwaitedObject[]>

/** Reads the objects whose kinds explain their status, and the Namespaces in `watched`. */
export async function readLiveStatuses(
  objects: readonly ObjectRecord[],
  flags: UserFlags,
  watched: Watched = new Map(),
): Promise<LiveStatuses> {
  const wanted = objects.filter((object) => !object.deleted && isExplained(object) && !isRedacted(object.name))
  const statuses = new Map<string, LiveStatus>()
  const problems = new Set<string>()
  if (wanted.length === 0) return { statuses, problems: [] }
  if (wanted.length > MOST_READ)
    problems.add(`only the first ${MOST_READ} of ${wanted.length} objects are read from the API server`)
  try {
    await withUserClient(flags, async (kube) => {
      const signal = AbortSignal.timeout(MOST_MS)
      const report = (error: unknown) => void problems.add(error instanceof Error ? error.message : String(error))
      await inParallel(wanted.slice(0, MOST_READ), AT_ONCE, async (object) => {
        const namespaces = await readNamespaces(kube, watched.get(object.uid) ?? [], signal).catch(report)
        const status = await readStatus(kube, object, { namespaces: namespaces ?? [], signal }).catch(report)
        if (status !== undefined) statuses.set(object.uid, status)
      })
    })
  } catch (error) {
    problems.add(error instanceof Error ? error.message : String(error))
  }
  return { statuses, problems: [...problems].slice(0, 3) }
}

type Reader = Pick<KubeClient, 'request'>

async function readNamespaces(
  kube: Reader,
  watched: readonly AwaitedObject[],
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const named = watched.filter(({ group, kind, name }) => group === '' && kind === 'Namespace' && name !== '*')
  const paths = named.map(({ name }) => resourcePath({ apiVersion: 'v1', plural: 'namespaces' }, undefined, name))
  const found = await Promise.all(paths.map(async (path) => await readIfPresent(kube, path, signal)))
  return found.filter((one) => one !== undefined)
}

async function readStatus(
  kube: Reader,
  object: ObjectRecord,
  { namespaces, signal }: { readonly namespaces: readonly KubeObject[]; readonly signal: AbortSignal },
): Promise<LiveStatus | undefined> {
  const resource = resourceOfKind(object)
  if (resource === undefined) return undefined
  const live = await readIfPresent(kube, resourcePath(resource, object.namespace, object.name), signal)
  if (live?.metadata.uid !== object.uid) return undefined
  const explanation = explainStatus(object, live, namespaces)
  const { summary, deployed = [], ownPods = {} } = explanation
  if (summary === undefined) return { ...explanation, pods: [] }
  const pods = [...(await unreadyPods(kube, deployed, signal)), ...(await podsOwnedBy(kube, live, ownPods, signal))]
  return { ...explanation, pods: podProblems(pods) }
}

/** Kinds whose objects create pods, with their plurals. */
const WORKLOADS: Readonly<Record<string, string>> = {
  Deployment: 'deployments',
  StatefulSet: 'statefulsets',
  DaemonSet: 'daemonsets',
  ReplicaSet: 'replicasets',
  Job: 'jobs',
}
const MOST_WORKLOADS = 20
const MOST_PODS = '200'

async function unreadyPods(
  kube: Reader,
  deployed: readonly DeployedObject[],
  signal: AbortSignal,
): Promise<readonly PodObject[]> {
  const found: PodObject[] = []
  for (const { apiVersion, kind, namespace, name, uid } of deployed.slice(0, MOST_WORKLOADS)) {
    const plural = kind === 'Pod' ? 'pods' : WORKLOADS[kind]
    if (plural === undefined) continue
    const object = await readIfPresent(kube, resourcePath({ apiVersion, plural }, namespace, name), signal)
    // L1
    if (object?.metadata.uid !== uid) continue
    if (kind === 'Pod') found.push(object)
    else found.push(...(await podsOf(kube, object, signal)))
  }
  return found
}

async function podsOf(kube: Reader, workload: KubeObject, signal: AbortSignal): Promise<readonly PodObject[]> {
  const labelSelector = selectorText(fieldsOf(fieldsOf(workload['spec'])['selector']))
  return await selectedPods(kube, workload.metadata.namespace ?? '', labelSelector, signal)
}

async function podsOwnedBy(
  kube: Reader,
  { metadata: { uid, namespace = '' } }: KubeObject,
  matchLabels: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<readonly PodObject[]> {
  const pods = await selectedPods(kube, namespace, selectorText({ matchLabels }), signal)
  return pods.filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid) === true)
}

/** No Pods for the empty selector, which would select all. */
async function selectedPods(
  kube: Reader,
  namespace: string,
  labelSelector: string,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  if (labelSelector === '') return []
  const path = resourcePath({ apiVersion: 'v1', plural: 'pods' }, namespace)
  const list = await kube.request<ObjectList>('GET', path, { query: { labelSelector, limit: MOST_PODS }, signal })
  return list.items
}

const OPERATORS: Readonly<Record<string, string>> = { In: 'in', NotIn: 'notin' }

/** A selector of a workload as text. */
function selectorText(selector: Readonly<Record<string, unknown>>): string {
  const labels = Object.entries(fieldsOf(selector['matchLabels'])).map(([key, value]) => `${key}=${textOf(value)}`)
  const expressions = listOf(selector['matchExpressions']).map((one) => {
    const { key, operator, values } = fieldsOf(one)
    const word = OPERATORS[textOf(operator)]
    if (word === undefined) return `${textOf(operator) === 'DoesNotExist' ? '!' : ''}${textOf(key)}`
    return `${textOf(key)} ${word} (${listOf(values).map(textOf).join(',')})`
  })
  return [...labels, ...expressions].join(',')
}

async function readIfPresent(kube: Reader, path: string, signal: AbortSignal): Promise<KubeObject | undefined> {
  return await kube.request<KubeObject>('GET', path, { signal }).catch((error: unknown) => {
    if (error instanceof KubeError && error.status === 404) return undefined
    throw error
  })
}
