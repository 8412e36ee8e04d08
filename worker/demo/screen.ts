// Shows changing lines and bars on a terminal: lines are redrawn in place; without a terminal only changed lines are
// printed.

export interface Screen {
  /** Replaces the lines shown before. */
  readonly update: (lines: readonly string[]) => void
  /** Keeps the present lines on the screen. */
  readonly end: () => void
}

export function liveLines(output: NodeJS.WriteStream): Screen {
  const started = Date.now()
  let shown: readonly string[] = []
  return {
    update(lines) {
      if (lines.join('\n') === shown.join('\n')) return
      // Moves to the first shown line and clears the rest of the screen.
      const back = shown.length === 0 ? '' : `\u001b[${shown.length}A\u001b[0J`
      output.write(output.isTTY ? `${back}${lines.join('\n')}\n` : changes(shown, lines, Date.now() - started))
      shown = lines
    },
    end: () => (shown = []),
  }
}

function changes(before: readonly string[], after: readonly string[], elapsedMs: number): string {
  const time = `${(elapsedMs / 1000).toFixed(1)} s`.padStart(7)
  const remaining = new Set(after.map(subject))
  const gone = before.filter((line) => !remaining.has(subject(line))).map((line) => `${subject(line)} gone`)
  const changed = after.filter((line) => !before.includes(line))
  return [...changed, ...gone].map((line) => `${time}  ${line}\n`).join('')
}

/** The part of a line that identifies its object. */
function subject(line: string): string {
  return line.slice(0, 40)
}

// Width of a full bar.

const WIDTH = 40

/** Shows requests per second as bars, one line per second. */
export class Bars {
  readonly #print: (text: string) => void
  readonly #waiting = new Set<(pages: number) => void>()
  #most = 1
  #note = ''

  constructor(print: (text: string) => void) {
    this.#print = print
  }

  /** A text next to all following bars. */
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

  /** The next figures. */
  async next(count: number): Promise<readonly number[]> {
    const found: number[] = []
    await this.until((pages) => found.push(pages) === count)
    return found
  }

  /** Resolves with the first figure for which the condition holds. */
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
