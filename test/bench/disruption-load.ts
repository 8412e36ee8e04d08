// A load of Disruptions: each is created, deleted as soon as it is injected, and waited for until it is gone, among pods of which it disturbs one.
//
//   L1. All are created in one go; each goes its way by itself from then on.
//   L2. What was not reached in time is told by name, never left out.

import { setTimeout as sleep } from 'node:timers/promises'

import type { KubeClient } from '../../activities/kube/client.ts'
import { inParallel } from '../../activities/kube/in-parallel.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import type { LsObject } from '../support/cluster/cluster.ts'
import { Follower } from './follow.ts'
import { createNamespaces } from './namespaces.ts'

export interface DisruptionPlan {
  readonly disruptions: number
  /** In their namespace, at least one for each. */
  readonly pods: number
  readonly isStatic: boolean
}

/** From the request that creates the first one. */
export interface DisruptionCourse {
  /** Until the last one was gone. */
  readonly wallMs: number
  /** Of each that went its way: from its creation until it was injected, and from its deletion until it was gone. */
  readonly injectedMs: readonly number[]
  readonly goneMs: readonly number[]
  /** When each was gone. */
  readonly endsMs: readonly number[]
  /** L2 */
  readonly missing: readonly string[]
}

export const DISRUPTIONS = { apiVersion: 'chaos.datadoghq.com/v1beta1', plural: 'disruptions' } as const
const PODS = { apiVersion: 'v1', plural: 'pods' } as const
/** Requests of the load's own at a time. */
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

  /** Makes the pods, each with a label of its own, in a namespace of their own; returns when all run. */
  static async make(kube: KubeClient, count: number, timeoutMs: number): Promise<DisruptionPods> {
    const [namespace = ''] = await createNamespaces(kube, 1)
    const follower = await Follower.open(kube, [namespace], PODS)
    try {
      const running = new Set<string>()
      const all = new AbortController()
      follower.listen(({ metadata, status }) => {
        if (status?.phase !== 'Running') return
        running.add(metadata.name)
        if (running.size === count) all.abort()
      })
      await inParallel(indices(count), PARALLEL, async (index) => {
        await kube.request('POST', resourcePath(PODS, namespace), { body: podBody(index) })
      })
      await sleep(timeoutMs, undefined, { signal: all.signal }).catch(() => undefined)
      if (running.size < count)
        throw new Error(`pods of ${namespace}: found ${running.size} that run after ${timeoutMs} ms, expected ${count}`)
    } finally {
      await follower.close()
    }
    return new DisruptionPods(kube, namespace, count)
  }
}

function podBody(index: number): object {
  const spec = { nodeName: NODES[index % NODES.length], containers: [{ name: 'app', image: 'example/app:1' }] }
  return { metadata: { name: `pod-${index}`, labels: { app: `pod-${index}`, team: 'bench' } }, spec }
}

/** Takes Disruptions through their lives. Their names begin with the prefix. */
export async function runDisruptions(
  { kube, namespace }: DisruptionPods,
  { disruptions, isStatic }: Pick<DisruptionPlan, 'disruptions' | 'isStatic'>,
  { prefix, timeoutMs }: { readonly prefix: string; readonly timeoutMs: number },
): Promise<DisruptionCourse> {
  const follower = await Follower.open(kube, [namespace], DISRUPTIONS)
  const names = indices(disruptions).map((index) => `${prefix}-${index}`)
  const lives = new Map(names.map((name) => [name, new Life()]))
  const all = new AbortController()
  const begin = performance.now()
  const path = (name?: string) => resourcePath(DISRUPTIONS, namespace, name)
  const deletions: Promise<unknown>[] = []
  let failure: Error | undefined
  const forget = follower.listen((object, isDeleted, at) => {
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
    // Rejects as soon as all are gone; at once, if they are already.
    await sleep(timeoutMs, undefined, { signal: all.signal }).catch(() => undefined)
    await Promise.all(deletions)
    if (failure !== undefined) throw failure
    await follower.silence(SETTLE_MS)
  } finally {
    forget()
    await follower.close()
  }
  return courseOf(lives, begin)
}

/** Times of `performance.now()`. */
class Life {
  sent = NaN
  injected: number | undefined
  deleted = NaN
  gone: number | undefined
}

function courseOf(lives: ReadonlyMap<string, Life>, begin: number): DisruptionCourse {
  const whole = [...lives].flatMap(([, { sent, injected, deleted, gone }]) =>
    injected === undefined || gone === undefined ? [] : [{ sent, injected, deleted, gone }],
  )
  const missing = [...lives].flatMap(([name, { injected, gone }]) => {
    if (injected === undefined) return [`${name}: never injected`]
    return gone === undefined ? [`${name}: not gone`] : []
  })
  return {
    wallMs: Math.max(...whole.map(({ gone }) => gone)) - begin,
    injectedMs: whole.map(({ sent, injected }) => injected - sent),
    goneMs: whole.map(({ deleted, gone }) => gone - deleted),
    endsMs: whole.map(({ gone }) => gone - begin),
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
