// Lists and watches objects of one kind, Installations by default, and calls listeners for each change.
//
//   F1. After a watch has ended, the informer lists again. An object that is missing in the list counts as deleted.

import { setTimeout as sleep } from 'node:timers/promises'

import type { KubeClient, ObjectList, ObjectMeta } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { readMessages } from '../../activities/kube/watch-stream.ts'
import { API, type LsObject } from '../support/cluster/cluster.ts'

/** @param at of performance.now(). */
export type Listener = (object: LsObject, isDeleted: boolean, at: number) => void

/** A resource to watch. */
export interface WatchedResource {
  readonly apiVersion: string
  readonly plural: string
}

const INSTALLATIONS: WatchedResource = { apiVersion: API, plural: 'installations' }
const SILENCE_LIMIT_MS = 120_000
const PAUSE_MS = 100

export class Informer {
  readonly #listeners = new Set<Listener>()
  readonly #kube: KubeClient
  readonly #path: string
  readonly #namespaces: ReadonlySet<string>
  readonly #known = new Map<string, LsObject>()
  readonly #stop = new AbortController()
  #finished: Promise<void> = Promise.resolve()
  #version = ''
  #lastEventAt = performance.now()

  private constructor(kube: KubeClient, namespaces: readonly string[], resource: WatchedResource) {
    this.#kube = kube
    this.#namespaces = new Set(namespaces)
    // One watch: of the only namespace, or of the cluster, without the objects of other namespaces.
    this.#path = resourcePath(resource, namespaces.length === 1 ? namespaces[0] : undefined)
  }

  static async open(kube: KubeClient, namespaces: readonly string[], resource = INSTALLATIONS): Promise<Informer> {
    const informer = new Informer(kube, namespaces, resource)
    await informer.#list()
    informer.#finished = informer.#run()
    return informer
  }

  /** The newest version of each object, by `keyOf`. */
  get known(): ReadonlyMap<string, LsObject> {
    return this.#known
  }

  /** Calls the listener for every change. @returns a function that removes the listener. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Waits until no event has come for this time. */
  async waitForSilence(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs = this.#lastEventAt + ms - performance.now())
      await sleep(Math.min(leftMs, ms) + 1)
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#finished
  }

  async #list(): Promise<void> {
    const { metadata, items } = await this.#kube.request<ObjectList>('GET', this.#path)
    this.#version = metadata.resourceVersion
    const listed = new Set(items.map(({ metadata }) => keyOf(metadata)))
    for (const [key, object] of this.#known) if (!listed.has(key)) this.#handle(object, true)
    for (const object of items) this.#handle(object, false)
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    const pause = () => sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined)
    // F1
    const listAgain = () =>
      pause()
        .then(() => this.#list())
        .catch(() => undefined)
    while (!signal.aborted) await this.#watch().catch(listAgain)
  }

  async #watch(): Promise<void> {
    const connection = new AbortController()
    const query = new URLSearchParams({ watch: '1', allowWatchBookmarks: 'true', resourceVersion: this.#version })
    const signal = AbortSignal.any([connection.signal, this.#stop.signal])
    const { statusCode, body } = await this.#kube.stream(`${this.#path}?${query.toString()}`, signal)
    if (statusCode !== 200) throw new Error(`watch of ${this.#path}: found status ${statusCode}, expected 200`)
    for await (const message of readMessages(body, SILENCE_LIMIT_MS, () => connection.abort())) {
      if (message.type === 'error') throw new Error(`watch of ${this.#path}: ${message.status.reason}`)
      this.#version = String(message.resourceVersion)
      if (message.type === 'event') this.#handle(message.object, message.eventType === 'DELETED')
    }
  }

  #handle(object: LsObject, isDeleted: boolean): void {
    if (!this.#namespaces.has(object.metadata.namespace ?? '')) return
    const key = keyOf(object.metadata)
    this.#lastEventAt = performance.now()
    if (isDeleted) this.#known.delete(key)
    else this.#known.set(key, object)
    for (const listener of this.#listeners) listener(object, isDeleted, this.#lastEventAt)
  }
}

export function keyOf({ namespace = '', name }: ObjectMeta): string {
  return `${namespace}/${name}`
}
