// A load: N Installations or Disruptions that are created, reconciled or deleted at once. A watch reports the end of each.
//
//   L1. `endOf` of the subject decides when an operation has ended.
//   L2. The result names each object that did not finish in time.

import { setTimeout as sleep } from 'node:timers/promises'

import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { inParallel } from '../../../activities/kube/in-parallel.ts'
import { type LsObject, OPERATION } from '../../support/cluster/cluster.ts'
import { Informer, keyOf } from '../informer.ts'
import { createNamespaces, removeNamespaces } from '../namespaces.ts'
import { disruptions } from './disruptions.ts'
import { installations } from './installations.ts'
import { type Operation, PARALLEL, type Place, type Plan, type Subject } from './subject.ts'

/** The result of an operation. */
interface OperationResult {
  /** From the first request to the last Installation that finished. */
  readonly wallMs: number
  /** The objects that finished, in the order of their ends. */
  readonly ends: readonly End[]
  /** Failures, as "namespace/name: phase: message". */
  readonly failed: readonly string[]
  /** Objects that did not finish in time (L2). */
  readonly missing: readonly string[]
}

export interface End {
  readonly key: string
  /** The times of its request and its end, since the first request of the operation. */
  readonly sentMs: number
  readonly doneMs: number
}

export class Load {
  readonly plan: Plan
  readonly place: Place
  readonly subject: Subject
  readonly #informer: Informer
  readonly #objects: readonly LsObject[]

  private constructor(plan: Plan, place: Place, subject: Subject, informer: Informer) {
    this.plan = plan
    this.place = place
    this.subject = subject
    this.#informer = informer
    this.#objects = Array.from({ length: plan.objects }, (_, index) =>
      subject.body(plan, index, place.namespaces[index % place.namespaces.length] ?? ''),
    )
  }

  /** Creates the namespaces and the objects that the load uses. */
  static async open({ kube, set }: Omit<Place, 'namespaces'>, plan: Plan): Promise<Load> {
    const place = { kube, set, namespaces: await createNamespaces(kube, plan.namespaces ?? 1) }
    const subject = plan.deployer === 'disruption' ? disruptions : installations
    await subject.prepare(place, plan)
    return new Load(plan, place, subject, await Informer.open(kube, place.namespaces, subject.resource))
  }

  /** The newest job of each object. */
  get jobIDs(): ReadonlySet<string> {
    return new Set([...this.#informer.known.values()].map(({ status }) => status?.jobID ?? ''))
  }

  /** Sends the requests and waits until all objects have finished, or until the limit after the last answer. */
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
      const end = this.subject.endOf(operation, object, { isDeleted, jobBefore: jobs.get(key) })
      if (end === undefined) return
      ends.set(key, { key, sentMs, doneMs: at - begin })
      if (end === 'failed') failed.push(`${key}: ${describe(object, isDeleted)}`)
      if (ends.size === this.#objects.length) all.abort()
    })
    try {
      await inParallel(this.#objects, PARALLEL, async (subject) => {
        sent.set(keyOf(subject.metadata), performance.now() - begin)
        await this.#submit(operation, subject)
      })
      // Rejects as soon as all have finished.
      await sleep(timeoutMs, undefined, { signal: all.signal }).catch(() => undefined)
      const missing = this.#objects.map(({ metadata }) => keyOf(metadata)).filter((key) => !ends.has(key))
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
    if (this.#informer.known.size === 0) return
    await removeNamespaces(this.place.kube, this.place.namespaces)
  }

  async #submit(operation: Operation, body: LsObject): Promise<void> {
    const { namespace, name } = body.metadata
    const { kube } = this.place
    const path = resourcePath(this.subject.resource, namespace, name)
    switch (operation) {
      case 'create':
        await kube.request('POST', resourcePath(this.subject.resource, namespace), { body })
        return
      case 'reconcile':
        await kube.request('PATCH', path, {
          body: { metadata: { annotations: { [OPERATION]: 'reconcile' } } },
          contentType: 'application/merge-patch+json',
        })
        return
      case 'delete':
        await kube.request('DELETE', path)
    }
  }
}

/** The verb of the requests in the counters of the API server. */
export const VERBS: Readonly<Record<Operation, string>> = { create: 'POST', reconcile: 'PATCH', delete: 'DELETE' }

function describe({ status }: LsObject, isDeleted: boolean): string {
  if (isDeleted) return 'does not exist'
  return `${status?.phase ?? 'no phase'}: ${status?.lastError?.message ?? 'no error'}`
}
