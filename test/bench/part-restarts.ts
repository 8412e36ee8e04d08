// Stops parts of the bench's own set and starts them again as they were, as an upgrade of the engine does.
//
//   N1. A part that is stopped here is no failure of its set. Which part ended first is all that the set tells, so from the first
//       restart on a death that nobody wanted shows by what does not complete.
//   N2. What is started again belongs to the set and is stopped with it.

import type { Servers } from '../../worker/dev/servers.ts'
import { type Part, startPart } from '../../worker/dev/part.ts'
import { specOf } from './crew.ts'
import type { ProcessTree } from './processes.ts'

export interface Restart {
  /** From the signal until all are gone. */
  readonly stopMs: number
  /** From then until all are ready. */
  readonly readyMs: number
}

export class PartRestarts {
  /** As they run now. */
  readonly processes: ProcessTree[]
  /** Rejects when a part dies that was not to be stopped. */
  readonly failure: Promise<never>
  readonly #servers: Servers
  readonly #logFile: (part: string) => string
  readonly #stopped = new Set<string>()

  constructor(servers: Servers, processes: readonly ProcessTree[], logFile: (part: string) => string) {
    this.#servers = servers
    this.#logFile = logFile
    this.processes = [...processes]
    this.failure = servers.failure.then((error) =>
      // N1
      this.#stopped.has(error.part) ? new Promise<never>(() => undefined) : Promise.reject(error),
    )
    this.failure.catch(() => undefined)
  }

  async restart(names: readonly string[]): Promise<Restart> {
    const specs = names.map((name) => specOf({ processes: this.processes, logFile: this.#logFile }, name))
    const running = this.#servers.parts.filter(({ spec }) => names.includes(spec.name))
    for (const name of names) this.#stopped.add(name)
    const begin = performance.now()
    await Promise.all(running.map((part) => part.stop()))
    const stopped = performance.now()
    // N2
    await Promise.all(specs.map(async (spec) => this.#replace(await startPart(spec, this.#servers.add))))
    return { stopMs: stopped - begin, readyMs: performance.now() - stopped }
  }

  #replace({ spec, identity }: Part): void {
    const at = this.processes.findIndex(({ name }) => name === spec.name)
    this.processes[at] = { name: spec.name, pid: identity.pid }
  }
}
