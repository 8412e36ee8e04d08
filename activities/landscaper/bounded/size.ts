// How large a value is, as it would be written out: shared parts count again each time. Found without recursion, and no further than asked.

export interface Size {
  readonly nodes: number
  /** Of texts and keys. */
  readonly characters: number
}

export function isLarger(value: unknown, most: Size): boolean {
  return !new Allowance(most).spend(value)
}

/** What several values may come to together. */
export class Allowance {
  #nodes = 0
  #characters = 0
  readonly #most: Size

  constructor(most: Size) {
    this.#most = most
  }

  /** Whether there is room for one more value; once there was none, there is none for any. */
  spend(value: unknown): boolean {
    const most = this.#most
    const open: unknown[] = [value]
    while (open.length > 0) {
      const next = open.pop()
      this.#nodes++
      if (typeof next === 'string') this.#characters += next.length
      if (this.#nodes + open.length > most.nodes || this.#characters > most.characters) return this.#end()
      if (typeof next !== 'object' || next === null) continue
      if (Array.isArray(next)) {
        if (next.length > most.nodes) return this.#end()
        for (const inner of next as readonly unknown[]) open.push(inner)
        continue
      }
      for (const [key, inner] of Object.entries(next)) {
        this.#characters += key.length
        open.push(inner)
      }
    }
    return true
  }

  /** Whether there is none left. */
  get isSpent(): boolean {
    return this.#nodes > this.#most.nodes || this.#characters > this.#most.characters
  }

  #end(): false {
    this.#nodes = Infinity
    return false
  }
}
