// Vitest reporter: prints the running tests every 15 s, so that a slow suite does not look like a hanging one.

import type { Reporter, TestCase, TestModule } from 'vitest/node'

const INTERVAL_MS = 15_000

export class Heartbeat implements Reporter {
  readonly #running = new Map<string, { since: number; test: string }>()
  #timer: NodeJS.Timeout | undefined
  #finished = 0

  onTestRunStart(): void {
    this.#timer = setInterval(() => this.#beat(), INTERVAL_MS)
    this.#timer.unref()
  }

  onTestModuleStart(module: TestModule): void {
    this.#running.set(module.moduleId, { since: Date.now(), test: '' })
  }

  onTestCaseReady(test: TestCase): void {
    const entry = this.#running.get(test.module.moduleId)
    if (entry !== undefined) entry.test = test.fullName
  }

  onTestCaseResult(): void {
    this.#finished += 1
  }

  onTestModuleEnd(module: TestModule): void {
    this.#running.delete(module.moduleId)
  }

  onTestRunEnd(): void {
    clearInterval(this.#timer)
  }

  #beat(): void {
    for (const [file, { since, test }] of this.#running) {
      const seconds = Math.round((Date.now() - since) / 1000)
      const name = file.slice(process.cwd().length + 1)
      process.stderr.write(`... ${this.#finished} tests done; ${name} for ${seconds} s, now: ${test}\n`)
    }
  }
}

// eslint-disable-next-line no-restricted-syntax -- vitest reads the default export
export default Heartbeat
