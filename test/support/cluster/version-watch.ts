// Records every version of every object of a namespace from watches of the API server.

import { setTimeout as sleep } from 'node:timers/promises'
import { versionOf } from '../../../activities/kube/object-cache.ts'
import type { KubeObject, ObjectList, Resource } from '../../../activities/kube/client.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import type { Cluster } from './cluster.ts'

interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: KubeObject
}

const WAIT_MS = 60_000

export class VersionWatch {
  /** The versions of each object, oldest first, by uid. */
  readonly versions = new Map<string, KubeObject[]>()
  readonly #cluster: Cluster
  readonly #resources: readonly Resource[]
  readonly #living = new Set<string>()
  /** The resourceVersion of the deletion of an object, by uid. */
  readonly #gone = new Map<string, number>()
  readonly #stopping = new AbortController()
  readonly #streams: Promise<void>[]

  private constructor(cluster: Cluster, resources: readonly Resource[]) {
    this.#cluster = cluster
    this.#resources = resources
    this.#streams = resources.map(async (resource) => await this.#follow(resource))
  }

  /** Starts the watches. They begin with an ADDED event for each existing object. */
  static start(cluster: Cluster, resources: readonly Resource[]): VersionWatch {
    return new VersionWatch(cluster, resources)
  }

  /** Waits until the newest version of each object is recorded. */
  async upToDate(): Promise<void> {
    const deadline = Date.now() + WAIT_MS
    while (!(await this.#isUpToDate())) {
      if (Date.now() > deadline) throw new Error(`the watch did not catch up in ${WAIT_MS} ms`)
      await sleep(50)
    }
  }

  async #isUpToDate(): Promise<boolean> {
    const { kube, namespace } = this.#cluster
    const lists = await Promise.all(
      this.#resources.map(async (resource) => await kube.request<ObjectList>('GET', resourcePath(resource, namespace))),
    )
    const there = new Map(
      lists.flatMap(({ items }) =>
        items.map(({ metadata }) => [metadata.uid ?? '', metadata.resourceVersion] as const),
      ),
    )
    const isKnown = [...there].every(
      ([uid, version]) => this.versions.get(uid)?.at(-1)?.metadata.resourceVersion === version,
    )
    return isKnown && [...this.#living].every((uid) => there.has(uid))
  }

  follows(plural: string): boolean {
    return this.#resources.some((resource) => resource.plural === plural)
  }

  /** All objects at a resourceVersion of the store, as far as the watches have received the events. */
  asOf(version: number): readonly KubeObject[] {
    return [...this.versions].flatMap(([uid, versions]) => {
      if ((this.#gone.get(uid) ?? Infinity) <= version) return []
      return versions.filter((one) => versionOf(one) <= version).slice(-1)
    })
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#streams)
  }

  async #follow(resource: Resource): Promise<void> {
    const { kube, namespace } = this.#cluster
    const path = `${resourcePath(resource, namespace)}?watch=true`
    try {
      const { body } = await kube.stream(path, this.#stopping.signal)
      let rest = ''
      for await (const chunk of body) {
        const lines = (rest + chunk.toString('utf8')).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) this.#take(JSON.parse(line) as WatchEvent)
      }
    } catch (error) {
      if (!this.#stopping.signal.aborted) throw error
    }
  }

  #take({ type, object }: WatchEvent): void {
    const { uid = '' } = object.metadata
    // The DELETED event contains the object before the removal of its last finalizer.
    const version = type === 'DELETED' ? { ...object, metadata: { ...object.metadata, finalizers: [] } } : object
    this.versions.set(uid, [...(this.versions.get(uid) ?? []), version])
    if (type === 'DELETED') {
      this.#living.delete(uid)
      this.#gone.set(uid, versionOf(object))
    } else this.#living.add(uid)
  }
}
