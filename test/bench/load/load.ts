// A load: N Installations that are created, reconciled or deleted at once. A watch reports the end of each.
//
//   L1. An Installation has finished when it has a new job and jobIDFinished = jobID. A deletion has finished when the object does not exist.
//   L2. The result names each Installation that did not finish in time.

import { setTimeout as sleep } from 'node:timers/promises'

import type { KubeClient } from '../../../activities/kube/client.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { inParallel } from '../../../activities/kube/in-parallel.ts'
import { API, type LsObject, OPERATION } from '../../support/cluster/cluster.ts'
import { Informer, keyOf } from '../informer.ts'
import { createTarget, installationBody, type Plan } from './installations.ts'
import { createNamespaces, removeNamespaces } from '../namespaces.ts'
import type { BenchSet } from '../servers.ts'

export const OPERATIONS = ['create', 'reconcile', 'delete'] as const
export type Operation = (typeof OPERATIONS)[number]

/** The result of an operation. */
interface OperationResult {
  /** From the first request to the last Installation that finished. */
  readonly wallMs: number
  /** The Installations that finished, in the order of their ends. */
  readonly ends: readonly End[]
  /** Failures, as "namespace/name: phase: message". */
  readonly failed: readonly string[]
  /** Installations that did not finish in time (L2). */
  readonly missing: readonly string[]
}

export interface End {
  readonly key: string
  /** The times of its request and its end, since the first request of the operation. */
  readonly sentMs: number
  readonly doneMs: number
}

/** Parallel requests. */
const PARALLEL = 16

type LoadedSet = Pick<BenchSet, 'kubeconfigPath' | 'isOwn'>

export class Load {
  readonly plan: Plan
  readonly namespaces: readonly string[]
  readonly #kube: KubeClient
  readonly #set: LoadedSet
  readonly #informer: Informer
  readonly #subjects: readonly LsObject[]

  private constructor(
    kube: KubeClient,
    plan: Plan,
    namespaces: readonly string[],
    { set, informer }: { readonly set: LoadedSet; readonly informer: Informer },
  ) {
    this.plan = plan
    this.namespaces = namespaces
    this.#kube = kube
    this.#set = set
    this.#informer = informer
    this.#subjects = Array.from({ length: plan.installations }, (_, index) =>
      installationBody(plan, index, namespaces[index % namespaces.length] ?? ''),
    )
  }

  /** Creates the namespaces and, for the manifest deployer, the Targets. */
  static async open(kube: KubeClient, plan: Plan, set: LoadedSet): Promise<Load> {
    const namespaces = await createNamespaces(kube, plan.namespaces ?? 1)
    if (plan.deployer === 'manifest')
      await inParallel(namespaces, PARALLEL, (name) => createTarget(kube, name, set.kubeconfigPath))
    return new Load(kube, plan, namespaces, { set, informer: await Informer.open(kube, namespaces) })
  }

  get kube(): KubeClient {
    return this.#kube
  }

  /** The newest job of each Installation. */
  get jobIDs(): ReadonlySet<string> {
    return new Set([...this.#informer.known.values()].map(({ status }) => status?.jobID ?? ''))
  }

  /** Sends the requests and waits until all Installations have finished, or until the limit after the last answer. */
  async run(operation: Operation, { timeoutMs }: { readonly timeoutMs: number }): Promise<OperationResult> {
    const jobs = new Map([...this.#informer.known].map(([key, { status }]) => [key, status?.jobID]))
    const sent = new Map<string, number>()
    const ends = new Map<string, End>()
    const failed: string[] = []
    const all = new AbortController()
    const begin = performance.now()
    const removeListener = this.#informer.listen((object, isDeleted, at) => {
      const key = keyOf(object.metadata)
      const sentMs = sent.get(key)
      if (sentMs === undefined || ends.has(key)) return
      const end = endOf(operation, object, { isDeleted, jobBefore: jobs.get(key) })
      if (end === undefined) return
      ends.set(key, { key, sentMs, doneMs: at - begin })
      if (end === 'failed') failed.push(`${key}: ${describe(object, isDeleted)}`)
      if (ends.size === this.#subjects.length) all.abort()
    })
    try {
      await inParallel(this.#subjects, PARALLEL, async (subject) => {
        sent.set(keyOf(subject.metadata), performance.now() - begin)
        await this.#submit(operation, subject)
      })
      // Rejects as soon as all have finished.
      await sleep(timeoutMs, undefined, { signal: all.signal }).catch(() => undefined)
      const missing = this.#subjects.map(({ metadata }) => keyOf(metadata)).filter((key) => !ends.has(key))
      const wallMs = [...ends.values()].at(-1)?.doneMs ?? NaN
      return { wallMs, ends: [...ends.values()], failed, missing }
    } finally {
      removeListener()
    }
  }

  async waitForSilence(ms: number): Promise<void> {
    await this.#informer.waitForSilence(ms)
  }

  /** Ends the watch and deletes the namespaces. */
  async close(): Promise<void> {
    await this.#informer.close()
    // A deletion takes five seconds. Empty namespaces disappear with their set.
    if (this.#set.isOwn && this.#informer.known.size === 0) return
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

/** The verb of the requests in the counters of the API server. */
export const VERBS: Readonly<Record<Operation, string>> = { create: 'POST', reconcile: 'PATCH', delete: 'DELETE' }

/** L1 */
export function endOf(
  operation: Operation,
  { status = {} }: LsObject,
  { isDeleted, jobBefore }: { readonly isDeleted: boolean; readonly jobBefore: string | undefined },
): 'succeeded' | 'failed' | undefined {
  if (isDeleted) return operation === 'delete' ? 'succeeded' : 'failed'
  const { jobID, jobIDFinished, phase } = status
  if (jobID === undefined || jobID === jobBefore || jobID !== jobIDFinished) return undefined
  if (operation !== 'delete' && phase === 'Succeeded') return 'succeeded'
  return 'failed'
}

function describe({ status }: LsObject, isDeleted: boolean): string {
  if (isDeleted) return 'does not exist'
  return `${status?.phase ?? 'no phase'}: ${status?.lastError?.message ?? 'no error'}`
}
