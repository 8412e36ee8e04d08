// Holds many Disruptions, each at a given write, until all are held. Killing one process then interrupts all these
// writes at once.
//
//   F1. After a Disruption is held, none of its writes reaches the API server: retries of its process are held as well.

import { vi } from 'vitest'

import type { OnWrite, WriteFault, RecordedWrite, WritePoint } from '../faults/http-proxy.ts'
import { RESTART_MS } from '../faults/lane.ts'

/** The write at which a Disruption is held. The names of its targets and chaos pods contain its name. */
export interface Held {
  readonly name: string
  readonly when: 'before' | 'after'
  readonly at: WritePoint
}

export class FrozenRuns {
  readonly #held: readonly Held[]
  readonly #counts = new Map<string, number>()
  readonly #frozen = new Set<string>()
  readonly #released: Promise<'cut' | 'go on'>
  #release: (how: 'cut' | 'go on') => void = () => undefined
  #isReleased = false

  constructor(held: readonly Held[]) {
    this.#held = held
    this.#released = new Promise((resolve) => {
      this.#release = resolve
    })
  }

  /** The callback for `HttpProxy.arm`. */
  readonly disturb: OnWrite = async (label, _nth, path, sent): Promise<WriteFault | undefined> => {
    const held = this.#held.find(({ name }) => isOf(name, { path, sent }))
    if (held === undefined || this.#isReleased) return undefined
    const { name, when, at } = held
    if (this.#frozen.has(name)) return lost(await this.#released)
    const nth = 1 + (this.#counts.get(`${name} ${label}`) ?? 0)
    this.#counts.set(`${name} ${label}`, nth)
    if (label !== at.label || nth !== at.nth) return undefined
    this.#frozen.add(name)
    if (when === 'before') return lost(await this.#released)
    return { afterwards: async () => await this.#released }
  }

  /** Waits until each Disruption is held at its write. */
  async allHeld(): Promise<void> {
    const missing = () => this.#held.filter(({ name }) => !this.#frozen.has(name))
    await vi.waitFor(
      () => {
        if (missing().length > 0) throw new Error(`not held yet: ${JSON.stringify(missing())}`)
      },
      { timeout: RESTART_MS, interval: 20 },
    )
  }

  /** @param how `cut`: drop the held requests, because the process that sent them is dead. */
  release(how: 'cut' | 'go on'): void {
    this.#isReleased = true
    this.#release(how)
  }
}

/** Whether a write is about the Disruption of this name, its target or its chaos pods. */
export function isOf(name: string, { path, sent }: { readonly path: string; readonly sent: string }): boolean {
  const word = new RegExp(`(^|[^a-z0-9])${name}([^a-z0-9]|$)`)
  return word.test(path) || word.test(sent)
}

export function isWriteOf(name: string, { path, body }: Pick<RecordedWrite, 'path' | 'body'>): boolean {
  return isOf(name, { path, sent: JSON.stringify(body) })
}

function lost(how: 'cut' | 'go on'): WriteFault | undefined {
  return how === 'cut' ? 'lost before' : undefined
}
