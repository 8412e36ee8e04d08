// Who waits for a place, and whose turn is next: the namespace that holds fewest places, of equal ones the one that has waited
// longest since its turn.

interface Waiter<Place> {
  readonly take: (place: Place) => void
}

export class WaitingLine<Place> {
  /** Those who wait, by namespace; the namespace whose turn is longest ago comes first. */
  readonly #waiting = new Map<string, Set<Waiter<Place>>>()
  readonly #held = new Map<string, number>()
  readonly #most: number

  /** @param most places that one namespace may hold. */
  constructor(most: number) {
    this.#most = most
  }

  /** Whether somebody waits who may have a place. */
  get hasNext(): boolean {
    return this.#next() !== undefined
  }

  /** Waits for a place, which has to be given back. Leaves the line with the signal, and then rejects with its reason. */
  async enter(namespace: string, signal: AbortSignal | undefined): Promise<Place> {
    signal?.throwIfAborted()
    return await new Promise<Place>((resolve, reject) => {
      const leave = () => {
        this.#remove(namespace, waiter)
        reject(signal?.reason as Error)
      }
      const waiter: Waiter<Place> = {
        take: (place) => {
          signal?.removeEventListener('abort', leave)
          resolve(place)
        },
      }
      signal?.addEventListener('abort', leave, { once: true })
      const others = this.#waiting.get(namespace)
      if (others === undefined) this.#waiting.set(namespace, new Set([waiter]))
      else others.add(waiter)
    })
  }

  /** A place for whoever is next; there has to be one. */
  give(place: Place): void {
    const namespace = this.#next()
    const [waiter] = (namespace === undefined ? undefined : this.#waiting.get(namespace)) ?? []
    if (namespace === undefined || waiter === undefined) throw new Error('found nobody who waits, expected somebody')
    this.#remove(namespace, waiter)
    const others = this.#waiting.get(namespace)
    if (others !== undefined) {
      this.#waiting.delete(namespace)
      this.#waiting.set(namespace, others)
    }
    this.#held.set(namespace, this.#heldBy(namespace) + 1)
    waiter.take(place)
  }

  giveBack(namespace: string): void {
    const held = this.#heldBy(namespace) - 1
    if (held === 0) this.#held.delete(namespace)
    else this.#held.set(namespace, held)
  }

  #next(): string | undefined {
    let next: string | undefined
    for (const namespace of this.#waiting.keys()) {
      const held = this.#heldBy(namespace)
      if (held < this.#most && (next === undefined || held < this.#heldBy(next))) next = namespace
    }
    return next
  }

  #heldBy(namespace: string): number {
    return this.#held.get(namespace) ?? 0
  }

  #remove(namespace: string, waiter: Waiter<Place>): void {
    const waiting = this.#waiting.get(namespace)
    waiting?.delete(waiter)
    if (waiting?.size === 0) this.#waiting.delete(namespace)
  }
}
