// Creates a load of Disruptions, each of one pod. The load creates all of them at once, deletes each as soon as it is
// injected, and waits until none exists.
//
//   L1. The result names each Disruption that was not injected or not deleted in time.

import { setTimeout as sleep } from 'node:timers/promises'

import type { KubeClient } from '../../../activities/kube/client.ts'
import { inParallel } from '../../../activities/kube/in-parallel.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import type { LsObject } from '../../support/cluster/cluster.ts'
import { Informer } from '../informer.ts'
import { createNamespaces } from '../namespaces.ts'

export interface DisruptionPlan {
  readonly disruptions: number
  /** Pods in the namespace, at least one for each Disruption. */
  readonly pods: number
  readonly isStatic: boolean
}

/** Times are relative to the first creation. */
export interface DisruptionResult {
  /** Until the last deletion has finished. */
  readonly wallMs: number
  /** `injectedMs`: from the creation to Injected. `goneMs`: from the delete request to the end of the deletion. */
  readonly injectedMs: readonly number[]
  readonly goneMs: readonly number[]
  /** The ends of all deletions. */
  readonly endsMs: readonly number[]
  /** The Disruptions of L1. */
  readonly missing: readonly string[]
}

export const DISRUPTIONS = { apiVersion: 'chaos.datadoghq.com/v1beta1', plural: 'disruptions' } as const
const PODS = { apiVersion: 'v1', plural: 'pods' } as const
/** The number of parallel requests. */
const PARALLEL = 16
const NODES = ['node-1', 'node-2', 'node-3']
const SETTLE_MS = 2000

export class DisruptionPods {
  readonly kube: KubeClient
  readonly namespace: string
  readonly count: number

  private constructor(kube: KubeClient, namespace: string, count: number) {
    this.kube = kube
    this.namespace = namespace
    this.count = count
  }

  /** Creates the pods in a new namespace, each with its own label, and waits until all run. */
  static async create(kube: KubeClient, count: number, timeoutMs: number): Promise<DisruptionPods> {
    const [namespace = ''] = await createNamespaces(kube, 1)
    const informer = await Informer.open(kube, [namespace], PODS)
    try {
      const running = new Set<string>()
      const all = new AbortController()
      informer.listen(({ metadata, status }) => {
        if (status?.phase !== 'Running') return
        running.add(metadata.name)
        if (running.size === count) all.abort()
      })
      await inParallel(indices(count), PARALLEL, async (index) => {
        await kube.request('POST', resourcePath(PODS, namespace), { body: podBody(index) })
      })
      await sleep(timeoutMs, undefined, { signal: all.signal }).catch(() => undefined)
      if (running.size < count)
        throw new Error(`pods of ${namespace}: ${running.size} run after ${timeoutMs} ms, expected ${count}`)
    } finally {
      await informer.close()
    }
    return new DisruptionPods(kube, namespace, count)
  }
}

function podBody(index: number): object {
  const spec = { nodeName: NODES[index % NODES.length], containers: [{ name: 'app', image: 'example/app:1' }] }
  return { metadata: { name: `pod-${index}`, labels: { app: `pod-${index}`, team: 'bench' } }, spec }
}

/** Creates and deletes Disruptions whose names start with the prefix. */
export async function runDisruptions(
  { kube, namespace }: DisruptionPods,
  { disruptions, isStatic }: Pick<DisruptionPlan, 'disruptions' | 'isStatic'>,
  { prefix, timeoutMs }: { readonly prefix: string; readonly timeoutMs: number },
): Promise<DisruptionResult> {
  const informer = await Informer.open(kube, [namespace], DISRUPTIONS)
  const names = indices(disruptions).map((index) => `${prefix}-${index}`)
  const lives = new Map(names.map((name) => [name, new Life()]))
  const all = new AbortController()
  const begin = performance.now()
  const path = (name?: string) => resourcePath(DISRUPTIONS, namespace, name)
  const deletions: Promise<unknown>[] = []
  let failure: Error | undefined
  const removeListener = informer.listen((object, isDeleted, at) => {
    const life = lives.get(object.metadata.name)
    if (life === undefined) return
    if (isDeleted) life.gone ??= at
    else if (life.injected === undefined && isInjected(object)) {
      life.injected = at
      life.deleted = performance.now()
      const deletion = kube.request('DELETE', path(object.metadata.name)).catch((error: unknown) => {
        failure ??= error instanceof Error ? error : new Error(String(error))
        all.abort()
      })
      deletions.push(deletion)
    }
    if ([...lives.values()].every(({ gone }) => gone !== undefined)) all.abort()
  })
  try {
    await inParallel([...lives], PARALLEL, async ([name, life], index = names.indexOf(name)) => {
      life.sent = performance.now()
      await kube.request('POST', path(), { body: disruptionBody(name, index, isStatic) })
    })
    // Rejects as soon as the last deletion has finished or a deletion has failed.
    await sleep(timeoutMs, undefined, { signal: all.signal }).catch(() => undefined)
    await Promise.all(deletions)
    if (failure !== undefined) throw failure
    await informer.waitForSilence(SETTLE_MS)
  } finally {
    removeListener()
    await informer.close()
  }
  return resultOf(lives, begin)
}

/** The times of one Disruption, by `performance.now()`. */
class Life {
  sent = NaN
  injected: number | undefined
  deleted = NaN
  gone: number | undefined
}

function resultOf(lives: ReadonlyMap<string, Life>, begin: number): DisruptionResult {
  const complete = [...lives].flatMap(([, { sent, injected, deleted, gone }]) =>
    injected === undefined || gone === undefined ? [] : [{ sent, injected, deleted, gone }],
  )
  const missing = [...lives].flatMap(([name, { injected, gone }]) => {
    if (injected === undefined) return [`${name}: was not injected`]
    return gone === undefined ? [`${name}: was not deleted`] : []
  })
  return {
    wallMs: Math.max(...complete.map(({ gone }) => gone)) - begin,
    injectedMs: complete.map(({ sent, injected }) => injected - sent),
    goneMs: complete.map(({ deleted, gone }) => gone - deleted),
    endsMs: complete.map(({ gone }) => gone - begin),
    missing,
  }
}

function isInjected({ status }: LsObject): boolean {
  return (status as { readonly injectionStatus?: string } | undefined)?.injectionStatus === 'Injected'
}

function disruptionBody(name: string, index: number, isStatic: boolean): object {
  const network = { drop: 30, hosts: [{ host: '10.0.0.0/8', port: 80, protocol: 'tcp' }] }
  const spec = { selector: { app: `pod-${index}` }, count: 1, duration: '1h', network }
  return {
    apiVersion: DISRUPTIONS.apiVersion,
    kind: 'Disruption',
    metadata: { name },
    spec: { ...spec, ...(isStatic && { staticTargeting: true }) },
  }
}

function indices(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index)
}
