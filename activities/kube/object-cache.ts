// Caches objects, so that objects unchanged by the journal's versions are not read again. Bounded by bytes; in memory
// only.
//
//   O1. An object is replaced only by a newer version.
//   O2. An entry is used only if the journal or the caller knows the newest version: the cache alone proves nothing.

import type { KubeObject } from './client.ts'
import { answerBytes } from './http-client.ts'

// Bytes of the API server's answers; the parsed objects take about three times as much.
const LIMIT_BYTES = 24 * 1024 * 1024

export class ObjectCache {
  readonly deletedObjects = new DeletedObjects()
  readonly #objects = new Map<string, { readonly object: KubeObject; readonly bytes: number }>()
  readonly #limit: number
  #bytes = 0

  constructor(limitBytes = LIMIT_BYTES) {
    this.#limit = limitBytes
  }

  get(uid: string): KubeObject | undefined {
    return this.#objects.get(uid)?.object
  }

  /** Stores an object; returns the newer of the given and the stored version (O1). */
  put(object: KubeObject): KubeObject {
    const { uid } = object.metadata
    if (uid === undefined) return object
    this.deletedObjects.forget(uid)
    const known = this.#objects.get(uid)
    if (known !== undefined && versionOf(known.object) > versionOf(object)) return known.object
    this.forget(uid)
    const bytes = answerBytes(object)
    this.#objects.set(uid, { object, bytes })
    this.#bytes += bytes
    this.#trim()
    return object
  }

  forget(uid: string): void {
    this.#bytes -= this.#objects.get(uid)?.bytes ?? 0
    this.#objects.delete(uid)
  }

  // The oldest entry is removed first; storing an object again moves it to the end.
  #trim(): void {
    for (const uid of this.#objects.keys()) {
      if (this.#bytes <= this.#limit) return
      this.forget(uid)
    }
  }
}

/**
 * Versions of one object are comparable as numbers (Kubernetes, "resourceVersion" since 1.35; etcd's revisions always).
 */
export function versionOf({ metadata }: KubeObject): number {
  return Number(metadata.resourceVersion ?? 0)
}

// Objects that were missing in a list of the bridge (`presumedDeleted`), and whose deletion the server has confirmed.
// Their rows stay in the journal while their owner exists, and would cost every pass a request.
//
//   G1. A confirmation expires, because a server that was behind may have lacked an existing object.
//   G2. A confirmation is valid for one version; a recreated object has a row with another version.

const CONFIRMED_FOR_MS = 10 * 60_000
const MOST_OBJECTS = 10_000

interface KnownVersion {
  readonly uid: string
  readonly version: number
}

export class DeletedObjects {
  readonly #until = new Map<string, { readonly version: number; readonly ms: number }>()

  confirm({ uid, version }: KnownVersion, now: Date): void {
    this.#until.delete(uid)
    this.#until.set(uid, { version, ms: now.getTime() + CONFIRMED_FOR_MS })
    const [oldest] = this.#until.keys()
    if (this.#until.size > MOST_OBJECTS && oldest !== undefined) this.#until.delete(oldest)
  }

  has({ uid, version }: KnownVersion, now: Date): boolean {
    const until = this.#until.get(uid)
    return until !== undefined && until.version === version && now.getTime() < until.ms
  }

  /** The object exists. */
  forget(uid: string): void {
    this.#until.delete(uid)
  }
}
