// Objects as this process last saw them, so that what the journal knows to be unchanged is not read again. Bounded; never written to disk.
//
//   O1. An object is replaced only by a newer version of itself.
//   O2. It is used only where the journal, or the reader, says which version is the newest: alone the cache proves nothing.

import type { KubeObject } from './client.ts'
import { answerBytes } from './http-client.ts'

// Text of the API server's answers; the objects made of it take some three times as much.
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

  /** Remembers an object; returns the newer of it and what was known (O1). */
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

  // The oldest goes first; a write puts its object at the end again.
  #trim(): void {
    for (const uid of this.#objects.keys()) {
      if (this.#bytes <= this.#limit) return
      this.forget(uid)
    }
  }
}

/** Versions of one object may be compared as numbers (Kubernetes, "resourceVersion" since 1.35; etcd's revisions always). */
export function versionOf({ metadata }: KubeObject): number {
  return Number(metadata.resourceVersion ?? 0)
}

// Objects that only a list of the bridge has lacked (`presumedDeleted`), and that the server has confirmed to be gone: their rows stay in the journal as long as their
// owner lives, and would cost every pass a request.
//
//   G1. For a while only: a server that was behind may have lacked what there is, and nothing tells of it.
//   G2. Of the version that the journal knows; what comes to life again has a row of another one.

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

  /** It was seen. */
  forget(uid: string): void {
    this.#until.delete(uid)
  }
}
