// Objects that only a list of the bridge has lacked (`presumedDeleted`), and that the server has confirmed to be gone: their rows stay in the journal as long as their
// owner lives, and would cost every pass a request.
//
//   G1. For a while only: a server that was behind may have lacked what there is, and nothing tells of it.
//   G2. Of the version that the journal knows; what comes to life again has a row of another one.

const BELIEVED_MS = 10 * 60_000
const MOST_OBJECTS = 10_000

interface Known {
  readonly uid: string
  readonly version: number
}

export class GoneObjects {
  readonly #until = new Map<string, { readonly version: number; readonly ms: number }>()

  confirm({ uid, version }: Known, now: Date): void {
    this.#until.delete(uid)
    this.#until.set(uid, { version, ms: now.getTime() + BELIEVED_MS })
    const [oldest] = this.#until.keys()
    if (this.#until.size > MOST_OBJECTS && oldest !== undefined) this.#until.delete(oldest)
  }

  has({ uid, version }: Known, now: Date): boolean {
    const until = this.#until.get(uid)
    return until !== undefined && until.version === version && now.getTime() < until.ms
  }

  /** It was seen. */
  forget(uid: string): void {
    this.#until.delete(uid)
  }
}
