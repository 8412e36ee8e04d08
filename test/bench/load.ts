// A load on the engine: N Installations that are created, given a second job and deleted, all at once, and waited for by watch.
// It knows nothing of CPU, counters or reports; measure.ts puts those around it.
//
//   L1. An Installation is finished when its newest job is (jobIDFinished = jobID), with another job than before; a deleted one when it is gone.
//   L2. What was not reached in time is told by name, never left out.

import { setTimeout as sleep } from 'node:timers/promises'

import type { KubeClient } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { inParallel } from '../../activities/kube/in-parallel.ts'
import { API, type LsObject, OPERATION } from '../support/cluster/cluster.ts'
import { Follower, keyOf } from './follow.ts'
import { createTarget, installationBody, type Plan } from './installations.ts'
import { createNamespaces, removeNamespaces } from './namespaces.ts'
import type { BenchSet } from './servers.ts'

export const OPERATIONS = ['create', 'reconcile', 'delete'] as const
export type Operation = (typeof OPERATIONS)[number]

/** How an operation went, for those that were to go through it. */
export interface Course {
  /** From the first request to the last Installation that finished. */
  readonly wallMs: number
  /** From the first request to the answer of the last. */
  readonly submitMs: number
  /** Each that ended, in the order of the ends. */
  readonly ends: readonly End[]
  /** Ended, but not well: "namespace/name: phase: message". */
  readonly failed: readonly string[]
  /** Not finished in time (L2). */
  readonly missing: readonly string[]
}

export interface End {
  readonly key: string
  /** Its request and its end, since the first request of all. */
  readonly sentMs: number
  readonly doneMs: number
}

/** Requests of the load's own at a time. */
const PARALLEL = 16

/** What a load has to know of the set that it is for. */
export type LoadedSet = Pick<BenchSet, 'kubeconfigPath' | 'isOwn'>

export class Load {
  readonly plan: Plan
  readonly namespaces: readonly string[]
  readonly #kube: KubeClient
  readonly #set: LoadedSet
  readonly #follower: Follower
  readonly #subjects: readonly LsObject[]

  private constructor(
    kube: KubeClient,
    plan: Plan,
    namespaces: readonly string[],
    { set, follower }: { readonly set: LoadedSet; readonly follower: Follower },
  ) {
    this.plan = plan
    this.namespaces = namespaces
    this.#kube = kube
    this.#set = set
    this.#follower = follower
    this.#subjects = Array.from({ length: plan.installations }, (_, index) =>
      installationBody(plan, index, namespaces[index % namespaces.length] ?? ''),
    )
  }

  /** Makes the namespaces, with what the items need in them. */
  static async open(kube: KubeClient, plan: Plan, set: LoadedSet): Promise<Load> {
    const namespaces = await createNamespaces(kube, plan.namespaces ?? 1)
    if (plan.deployer === 'manifest')
      await inParallel(namespaces, PARALLEL, (name) => createTarget(kube, name, set.kubeconfigPath))
    return new Load(kube, plan, namespaces, { set, follower: await Follower.open(kube, namespaces) })
  }

  get kube(): KubeClient {
    return this.#kube
  }

  /** The jobs that the Installations had last. */
  get jobIDs(): ReadonlySet<string> {
    return new Set([...this.#follower.known.values()].map(({ status }) => status?.jobID ?? ''))
  }

  /** Sends the operation for every Installation and waits until all are through it, or so much time is over after the last answer. */
  async run(operation: Operation, { timeoutMs }: { readonly timeoutMs: number }): Promise<Course> {
    const jobs = new Map([...this.#follower.known].map(([key, { status }]) => [key, status?.jobID]))
    const sent = new Map<string, number>()
    const ends = new Map<string, End>()
    const failed: string[] = []
    const all = new AbortController()
    const begin = performance.now()
    const forget = this.#follower.listen((object, isDeleted, at) => {
      const key = keyOf(object.metadata)
      const sentMs = sent.get(key)
      if (sentMs === undefined || ends.has(key)) return
      const end = endOf(operation, object, { isDeleted, jobBefore: jobs.get(key) })
      if (end === undefined) return
      ends.set(key, { key, sentMs, doneMs: at - begin })
      if (end === 'badly') failed.push(`${key}: ${describe(object, isDeleted)}`)
      if (ends.size === this.#subjects.length) all.abort()
    })
    try {
      await inParallel(this.#subjects, PARALLEL, async (subject) => {
        sent.set(keyOf(subject.metadata), performance.now() - begin)
        await this.#submit(operation, subject)
      })
      const submitMs = performance.now() - begin
      // Rejects as soon as all are through it; at once, if they are already.
      await sleep(timeoutMs, undefined, { signal: all.signal }).catch(() => undefined)
      const missing = this.#subjects.map(({ metadata }) => keyOf(metadata)).filter((key) => !ends.has(key))
      const wallMs = [...ends.values()].at(-1)?.doneMs ?? NaN
      return { wallMs, submitMs, ends: [...ends.values()], failed, missing }
    } finally {
      forget()
    }
  }

  /** Waits until no Installation has changed for so long. */
  async settle(ms: number): Promise<void> {
    await this.#follower.silence(ms)
  }

  /** Stops following and removes the namespaces. */
  async close(): Promise<void> {
    await this.#follower.close()
    // It takes five seconds, in which nothing can be measured; empty ones go with their set.
    if (this.#set.isOwn && this.#follower.known.size === 0) return
    await removeNamespaces(this.#kube, this.namespaces)
  }

  async #submit(operation: Operation, body: LsObject): Promise<void> {
    const { namespace, name } = body.metadata
    const resource = { apiVersion: API, plural: 'installations' }
    const path = resourcePath(resource, namespace, name)
    switch (operation) {
      case 'create':
        await this.#kube.request('POST', resourcePath(resource, namespace), { body })
        return
      case 'reconcile':
        await this.#kube.request('PATCH', path, {
          body: { metadata: { annotations: { [OPERATION]: 'reconcile' } } },
          contentType: 'application/merge-patch+json',
        })
        return
      case 'delete':
        await this.#kube.request('DELETE', path)
    }
  }
}

/** The verb of the load's own requests, as the API server counts them; each names `installations`. */
export const VERBS: Readonly<Record<Operation, string>> = { create: 'POST', reconcile: 'PATCH', delete: 'DELETE' }

/** L1 */
export function endOf(
  operation: Operation,
  { status = {} }: LsObject,
  { isDeleted, jobBefore }: { readonly isDeleted: boolean; readonly jobBefore: string | undefined },
): 'well' | 'badly' | undefined {
  if (isDeleted) return operation === 'delete' ? 'well' : 'badly'
  const { jobID, jobIDFinished, phase } = status
  if (jobID === undefined || jobID === jobBefore || jobID !== jobIDFinished) return undefined
  if (operation !== 'delete' && phase === 'Succeeded') return 'well'
  return 'badly'
}

function describe({ status }: LsObject, isDeleted: boolean): string {
  if (isDeleted) return 'is gone'
  return `${status?.phase ?? 'no phase'}: ${status?.lastError?.message ?? 'no error'}`
}
