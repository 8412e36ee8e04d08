// Requests per second as bars, one below the other, so that what has happened stays to look at.

const WIDTH = 40

/** Told figure by figure; each is shown at once. */
export class Bars {
  readonly #print: (text: string) => void
  readonly #waiting = new Set<(pages: number) => void>()
  #most = 1
  #note = ''

  constructor(print: (text: string) => void) {
    this.#print = print
  }

  /** Stands beside the bars from now on. */
  set note(text: string) {
    this.#note = text
  }

  add(pages: number): void {
    this.#most = Math.max(this.#most, pages)
    const length = Math.round((pages / this.#most) * WIDTH)
    const bar = (pages > 0 && length === 0 ? '▏' : '█'.repeat(length)).padEnd(WIDTH)
    this.#print(`  ${bar}${String(pages).padStart(5)}  ${this.#note}`.trimEnd() + '\n')
    for (const take of this.#waiting) take(pages)
  }

  /** The next so many figures. */
  async next(count: number): Promise<readonly number[]> {
    const found: number[] = []
    await this.until((pages) => found.push(pages) === count)
    return found
  }

  /** Resolves with the first figure of which it is so. */
  async until(isSo: (pages: number) => boolean): Promise<number> {
    return await new Promise((resolve) => {
      const take = (pages: number) => {
        if (!isSo(pages)) return
        this.#waiting.delete(take)
        resolve(pages)
      }
      this.#waiting.add(take)
    })
  }
}
