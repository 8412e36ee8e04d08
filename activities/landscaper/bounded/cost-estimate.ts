// Estimates the cost of work on tenants' data before the work starts. Cheap work runs on the event loop, because sending it to a thread costs more.
// One unit is about 1/15 of a microsecond, measured with json-p3 and yaml, rounded up.
//
//   E1. An estimate itself costs at most as much as work that counts as cheap.

import { claimedSize } from './compressed-items.ts'
import { excessOf } from '../../yaml/yaml-effort.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** About ten milliseconds. */
export const MAX_INLINE_COST = 150_000

const COST_PER_TOKEN = 150
const MAX_INLINE_TEXT = 64 * 1024
const INLINE_YAML_LIMITS = { maxTokens: MAX_INLINE_COST / COST_PER_TOKEN, maxOpenBrackets: 100, maxAliases: 3 }

/** The cost of parsing a YAML text; `Infinity` if the text is too expensive for the event loop. */
export function yamlCost(text: string): number {
  if (text.length > MAX_INLINE_TEXT || excessOf(text, INLINE_YAML_LIMITS) !== undefined) return Infinity
  // Each token has at least one character.
  return Math.min(MAX_INLINE_COST, text.length * COST_PER_TOKEN)
}

/** The largest decompressed size that is processed on the event loop. */
export const MAX_INLINE_BYTES = 64 * 1024

/** The cost of decompressing items, from the size that the gzip trailer claims. */
export function decompressionCost(packed: string): number {
  const bytes = Math.max(packed.length, claimedSize(packed))
  return bytes > MAX_INLINE_BYTES ? Infinity : bytes
}

/** Limits for the results of JSON paths that are evaluated on the event loop; the cost counts every node of a result. */
export const INLINE_RESULT_LIMIT = { nodes: 10_000, characters: 64 * 1024 }

/** The number of nodes of a JSON value; stops counting at `max`. */
export function countNodes(value: unknown, max: number): number {
  let count = 0
  const pending: unknown[] = [value]
  while (pending.length > 0 && count + pending.length <= max) {
    const next = pending.pop()
    count++
    if (typeof next !== 'object' || next === null) continue
    for (const inner of Object.values(next) as readonly unknown[]) pending.push(inner)
  }
  return Math.min(max, count + pending.length)
}

// Limits the cheap work in one iteration of the event loop, so that other callbacks are not delayed, however many requests arrive at once.

export class EventLoopBudget {
  #spent = 0
  #last: Promise<void> = Promise.resolve()

  /** Waits for an iteration of the event loop with budget for work of this cost. */
  async acquire(cost: number): Promise<void> {
    this.#last = this.#last.then(async () => {
      if (this.#spent + cost > MAX_INLINE_COST) {
        await nextTurn()
        this.#spent = 0
      }
      this.#spent += cost
    })
    await this.#last
  }
}

// Measures the size of a value as if it were serialized: shared parts count each time. Works without recursion and stops at the limit.

export interface Size {
  readonly nodes: number
  /** The characters of all texts and keys. */
  readonly characters: number
}

export function isLarger(value: unknown, max: Size): boolean {
  return !new SizeBudget(max).spend(value)
}

/** A size limit that several values share. */
export class SizeBudget {
  #nodes = 0
  #characters = 0
  readonly #max: Size

  constructor(max: Size) {
    this.#max = max
  }

  /** Whether the value fits into the budget; after the first value that does not fit, no value fits. */
  spend(value: unknown): boolean {
    const max = this.#max
    const pending: unknown[] = [value]
    while (pending.length > 0) {
      const next = pending.pop()
      this.#nodes++
      if (typeof next === 'string') this.#characters += next.length
      if (this.#nodes + pending.length > max.nodes || this.#characters > max.characters) return this.#exhaust()
      if (typeof next !== 'object' || next === null) continue
      if (Array.isArray(next)) {
        if (next.length > max.nodes) return this.#exhaust()
        for (const inner of next as readonly unknown[]) pending.push(inner)
        continue
      }
      for (const [key, inner] of Object.entries(next)) {
        this.#characters += key.length
        pending.push(inner)
      }
    }
    return true
  }

  get isExhausted(): boolean {
    return this.#nodes > this.#max.nodes || this.#characters > this.#max.characters
  }

  #exhaust(): false {
    this.#nodes = Infinity
    return false
  }
}
