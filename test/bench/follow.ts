// Follows objects of one kind through list and watch, as `kubectl get --watch` does: the Installations of a load, if nothing else is said.
//
//   F1. A watch that ends is begun anew after a list; what is missing in the list counts as deleted.

import { setTimeout as sleep } from 'node:timers/promises'

import type { KubeClient, ObjectList, ObjectMeta } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { readMessages } from '../../activities/kube/watch-stream.ts'
import { API, type LsObject } from '../support/cluster/cluster.ts'

/** @param at of performance.now(). */
export type Listener = (object: LsObject, isDeleted: boolean, at: number) => void

/** What is followed, by its resource. */
export interface Followed {
  readonly apiVersion: string
  readonly plural: string
}

const INSTALLATIONS: Followed = { apiVersion: API, plural: 'installations' }
const SILENCE_LIMIT_MS = 120_000
const PAUSE_MS = 100

export class Follower {
  readonly #listeners = new Set<Listener>()
  readonly #kube: KubeClient
  readonly #path: string
  readonly #namespaces: ReadonlySet<string>
  readonly #known = new Map<string, LsObject>()
  readonly #ending = new AbortController()
  #ended: Promise<void> = Promise.resolve()
  #version = ''
  #lastAt = performance.now()

  private constructor(kube: KubeClient, namespaces: readonly string[], followed: Followed) {
    this.#kube = kube
    this.#namespaces = new Set(namespaces)
    // One stream for all: of the only namespace, or of the whole cluster, of which the rest is dropped.
    this.#path = resourcePath(followed, namespaces.length === 1 ? namespaces[0] : undefined)
  }

  static async open(kube: KubeClient, namespaces: readonly string[], followed = INSTALLATIONS): Promise<Follower> {
    const follower = new Follower(kube, namespaces, followed)
    await follower.#list()
    follower.#ended = follower.#follow()
    return follower
  }

  /** The newest state of each, by `keyOf`. */
  get known(): ReadonlyMap<string, LsObject> {
    return this.#known
  }

  /** Tells of every change until the function that is returned is called. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Waits until nothing has come for so long. */
  async silence(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs = this.#lastAt + ms - performance.now())
      await sleep(Math.min(leftMs, ms) + 1)
  }

  async close(): Promise<void> {
    this.#ending.abort()
    await this.#ended
  }

  async #list(): Promise<void> {
    const { metadata, items } = await this.#kube.request<ObjectList>('GET', this.#path)
    this.#version = metadata.resourceVersion
    const listed = new Set(items.map(({ metadata }) => keyOf(metadata)))
    for (const [key, object] of this.#known) if (!listed.has(key)) this.#note(object, true)
    for (const object of items) this.#note(object, false)
  }

  async #follow(): Promise<void> {
    const { signal } = this.#ending
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
    const signal = AbortSignal.any([connection.signal, this.#ending.signal])
    const { statusCode, body } = await this.#kube.stream(`${this.#path}?${query.toString()}`, signal)
    if (statusCode !== 200) throw new Error(`watch of ${this.#path}: found status ${statusCode}, expected 200`)
    for await (const message of readMessages(body, SILENCE_LIMIT_MS, () => connection.abort())) {
      if (message.type === 'error') throw new Error(`watch of ${this.#path}: ${message.status.reason}`)
      this.#version = String(message.resourceVersion)
      if (message.type === 'event') this.#note(message.object, message.eventType === 'DELETED')
    }
  }

  #note(object: LsObject, isDeleted: boolean): void {
    if (!this.#namespaces.has(object.metadata.namespace ?? '')) return
    const key = keyOf(object.metadata)
    this.#lastAt = performance.now()
    if (isDeleted) this.#known.delete(key)
    else this.#known.set(key, object)
    for (const listener of this.#listeners) listener(object, isDeleted, this.#lastAt)
  }
}

export function keyOf({ namespace = '', name }: ObjectMeta): string {
  return `${namespace}/${name}`
}
