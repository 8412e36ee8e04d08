// The injector's requests to the API server: its own pod, the target, and the disrupted Services.

import type { ServiceRule, TargetContainer, CommonFlags } from '../../../workflows/chaos/injector/invocation.ts'
import type { ServiceAddress } from '../../../workflows/chaos/injector/network/network-spec.ts'
import { CHAOS_POD_FINALIZER } from '../../../workflows/chaos/contract.ts'
import type { KubeClient, KubeObject } from '../../kube/client.ts'
import { isNotFound } from '../../kube/errors.ts'
import type { Clock } from './clock.ts'
import { type Log, textOf } from './log.ts'
import type { ReplacementFacts } from '../../../workflows/chaos/injector/plan.ts'

export interface PodName {
  readonly namespace: string
  readonly name: string
}

const PODS = '/api/v1/namespaces'
const NEVER = new AbortController().signal
// Source: spec/chaos.md 3.4 (6) and 3.5.
const WATCH_RETRIES = 5
const FINALIZER_RETRIES = 3
const POD_RETRIES = 3
const FIRST_BACKOFF_MS = 500

/**
 * Removes the finalizer of the chaos pod and keeps other finalizers. A deleted pod is a success. @throws after the last
 * retry.
 */
export async function removeFinalizer(kube: KubeClient, pod: PodName, clock: Clock): Promise<void> {
  const path = `${PODS}/${pod.namespace}/pods/${pod.name}`
  for (let retries = 0; ; retries += 1) {
    try {
      const { metadata } = await kube.request<KubeObject>('GET', path)
      const finalizers = metadata.finalizers ?? []
      if (!finalizers.includes(CHAOS_POD_FINALIZER)) return
      const body = {
        metadata: {
          finalizers: finalizers.filter((one) => one !== CHAOS_POD_FINALIZER),
          resourceVersion: metadata.resourceVersion,
        },
      }
      await kube.request('PATCH', path, { body, contentType: 'application/merge-patch+json' })
      return
    } catch (error) {
      if (isNotFound(error)) return
      if (retries === FINALIZER_RETRIES) throw error
      await clock.sleep(FIRST_BACKOFF_MS * 2 ** retries, NEVER)
    }
  }
}

interface ContainerStatus {
  readonly name: string
  readonly containerID?: string
  readonly state?: { readonly running?: unknown }
}

/** The new containers if all containers run and at least one has a new ID; undefined otherwise. */
export function restartedContainers(
  pod: KubeObject,
  before: readonly TargetContainer[],
): readonly TargetContainer[] | undefined {
  const status = pod['status'] as
    | {
        readonly containerStatuses?: readonly ContainerStatus[]
        readonly initContainerStatuses?: readonly ContainerStatus[]
      }
    | undefined
  const all = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])]
  const now = before.map(({ name }) => {
    const found = all.find((one) => one.name === name)
    return found?.containerID === undefined || found.state?.running === undefined
      ? undefined
      : { name, id: found.containerID }
  })
  const running = now.filter((one) => one !== undefined)
  const hasChanged = running.some(({ name, id }) => before.some((one) => one.name === name && one.id !== id))
  return running.length === before.length && hasChanged ? running : undefined
}

/**
 * Resolves with the new containers after a restart of the target, or with undefined when the signal is aborted or the
 * watch fails for good.
 */
export async function watchRestart(
  kube: KubeClient,
  pod: PodName,
  before: readonly TargetContainer[],
  { clock, log, until }: { readonly clock: Clock; readonly log: Log; readonly until: AbortSignal },
): Promise<readonly TargetContainer[] | undefined> {
  for (let retries = 0; !isAborted(until) && retries <= WATCH_RETRIES; retries += 1) {
    try {
      const found = await kube.request<KubeObject>('GET', `${PODS}/${pod.namespace}/pods/${pod.name}`, {
        signal: until,
      })
      const containers = restartedContainers(found, before) ?? (await nextRestart(kube, pod, { found, before, until }))
      if (containers !== undefined) return containers
      // The server ends watches regularly; this is not a failure.
      retries = -1
    } catch (error) {
      if (isAborted(until)) return undefined
      log.warn('the watch of the target failed; retrying', { retries, error: textOf(error) })
      await clock.sleep(FIRST_BACKOFF_MS * 2 ** retries, until)
    }
  }
  if (!isAborted(until)) log.error('the watch of the target ended; restarted containers will not be injected again')
  return undefined
}

/** The signal may have been aborted during an await. */
function isAborted(until: AbortSignal): boolean {
  return until.aborted
}

interface WatchFrom {
  readonly found: KubeObject
  readonly before: readonly TargetContainer[]
  readonly until: AbortSignal
}

async function nextRestart(kube: KubeClient, { namespace, name }: PodName, { found, before, until }: WatchFrom) {
  const query = new URLSearchParams({ watch: '1', fieldSelector: `metadata.name=${name}` })
  query.set('resourceVersion', found.metadata.resourceVersion ?? '')
  const { statusCode, body } = await kube.stream(`${PODS}/${namespace}/pods?${query.toString()}`, until)
  if (statusCode !== 200) throw new Error(`the API server answers the watch with status ${statusCode}`)
  let buffer = ''
  for await (const chunk of body) {
    const lines = `${buffer}${chunk.toString('utf8')}`.split('\n')
    buffer = lines.pop() ?? ''
    for (const line of lines.filter((one) => one.trim() !== '')) {
      const { type, object } = JSON.parse(line) as { readonly type: string; readonly object: KubeObject }
      // After status 410 the watch must restart; the caller reads the pod again.
      if (type === 'ERROR') return undefined
      const containers = type === 'MODIFIED' ? restartedContainers(object, before) : undefined
      if (containers !== undefined) return containers
    }
  }
  return undefined
}

interface ServicePort {
  readonly name?: string
  readonly port: number
  readonly protocol?: string
  readonly targetPort?: number | string
}

/** The addresses of Services: their cluster IPs and the IPs of their pods. Source: spec/chaos.md 3.6, "Services". */
export async function serviceAddresses(
  kube: KubeClient,
  rules: readonly ServiceRule[],
): Promise<Readonly<Record<string, readonly ServiceAddress[]>>> {
  const found = await Promise.all(
    rules.map(async (rule) => [`${rule.namespace}/${rule.name}`, await addressesOf(kube, rule)] as const),
  )
  return Object.fromEntries(found)
}

async function addressesOf(
  kube: KubeClient,
  { namespace, name, ports }: ServiceRule,
): Promise<readonly ServiceAddress[]> {
  const service = await kube.request<KubeObject>('GET', `/api/v1/namespaces/${namespace}/services/${name}`)
  const spec = service['spec'] as {
    readonly clusterIP?: string
    readonly ports?: readonly ServicePort[]
    readonly selector?: Readonly<Record<string, string>>
  }
  const isAsked = (port: ServicePort) =>
    ports.length === 0 ||
    ports.some(
      (one) => (one.port === 0 || one.port === port.port) && (one.name === '' || one.name === (port.name ?? '')),
    )
  const served = (spec.ports ?? []).filter(isAsked).filter(({ protocol }) => protocol !== 'SCTP')
  const selector = Object.entries(spec.selector ?? {}).map(([key, value]) => `${key}=${value}`)
  const pods =
    selector.length === 0
      ? []
      : (
          await kube.request<{ readonly items: readonly KubeObject[] }>('GET', `${PODS}/${namespace}/pods`, {
            query: { labelSelector: selector.join(',') },
          })
        ).items
  return serviceAddressesOf({ isHeadless: spec.clusterIP === 'None', clusterIp: spec.clusterIP, served, pods })
}

interface ServiceParts {
  readonly isHeadless: boolean
  readonly clusterIp: string | undefined
  readonly served: readonly ServicePort[]
  readonly pods: readonly KubeObject[]
}

/** A pod without an IP is left out until it has one. */
export function serviceAddressesOf({ isHeadless, clusterIp, served, pods }: ServiceParts): readonly ServiceAddress[] {
  const protocolOf = ({ protocol }: ServicePort) => (protocol === 'UDP' ? 'udp' : 'tcp')
  const own =
    isHeadless || clusterIp === undefined
      ? []
      : served.map((one) => ({ ip: clusterIp, port: one.port, protocol: protocolOf(one) }) as const)
  const ofPods = pods.flatMap((pod) => {
    const ip = (pod['status'] as { readonly podIP?: string } | undefined)?.podIP
    if (ip === undefined || ip === '') return []
    if (isHeadless) return (['tcp', 'udp'] as const).map((protocol) => ({ ip, port: 0, protocol }))
    return served.map((one) => ({ ip, port: targetPort(pod, one), protocol: protocolOf(one) }) as const)
  })
  return [...own, ...ofPods]
}

function targetPort(pod: KubeObject, { port, targetPort: to }: ServicePort): number {
  if (typeof to === 'number') return to
  if (to === undefined) return port
  const containers = (
    pod['spec'] as
      | { readonly containers?: readonly { readonly ports?: readonly { name?: string; containerPort: number }[] }[] }
      | undefined
  )?.containers
  return containers?.flatMap(({ ports }) => ports ?? []).find(({ name }) => name === to)?.containerPort ?? port
}

/**
 * The time at which the kubelet accepted the pod, by the clock of the node; milliseconds since the epoch, in whole
 * seconds. Undefined if the status has no start time.
 *
 * @throws after the last retry, and if the pod is deleted: without the answer the injector must not act as if the node
 * had never failed.
 */
export async function startOfPod(
  kube: Pick<KubeClient, 'request'>,
  { namespace, name }: PodName,
  clock: Pick<Clock, 'sleep'>,
): Promise<number | undefined> {
  for (let retries = 0; ; retries += 1) {
    try {
      const pod = await kube.request<KubeObject>('GET', `/api/v1/namespaces/${namespace}/pods/${name}`)
      const { startTime } = (pod['status'] ?? {}) as { readonly startTime?: string }
      return startTime === undefined ? undefined : Date.parse(startTime)
    } catch (error) {
      if (isNotFound(error) || retries === POD_RETRIES) throw error
      await clock.sleep(FIRST_BACKOFF_MS * 2 ** retries, NEVER)
    }
  }
}

interface PodSpec {
  readonly volumes?: readonly { readonly persistentVolumeClaim?: { readonly claimName: string } }[]
}

/** @throws if no pod has the address, or several pods have it and none has the target's name. */
export async function replacementFacts(
  kube: KubeClient,
  { targetPodIp = '', log }: CommonFlags,
): Promise<ReplacementFacts> {
  const node = log.targetNodeName
  const fieldSelector = `status.podIP=${targetPodIp},spec.nodeName=${node}`
  const { items } = await kube.request<{ readonly items: readonly KubeObject[] }>('GET', '/api/v1/pods', {
    query: { fieldSelector },
  })
  // Pods in the node's network share its address.
  const pod = items.length === 1 ? items[0] : items.find(({ metadata }) => metadata.name === log.targetName)
  if (pod?.metadata.namespace === undefined || pod.metadata.uid === undefined)
    throw new Error(`found ${items.length} pods with ${fieldSelector}; expected one`)
  const { namespace, name, uid } = pod.metadata
  const found = await kube.request<KubeObject>('GET', `/api/v1/nodes/${node}`)
  const volumes = (pod['spec'] as PodSpec | undefined)?.volumes ?? []
  return {
    node,
    pod: { namespace, name, uid },
    isCordoned: (found['spec'] as { readonly unschedulable?: boolean } | undefined)?.unschedulable === true,
    claims: volumes.flatMap(({ persistentVolumeClaim: claim }) => (claim === undefined ? [] : [claim.claimName])),
  }
}
