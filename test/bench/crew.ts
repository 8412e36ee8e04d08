// Bridges and workers beside those of the set, or in their place: started as the set's own are, with the same arguments.
//
//   W1. What is known of a running process is its command line and environment (/proc), so nothing of how `pawl dev` starts it is repeated here.
//   W2. All belong to a group, so they end with the bench, however it ends.

import { readFileSync } from 'node:fs'

import { type Group, startGroup } from '../../worker/dev/group.ts'
import { type Part, type PartSpec, startPart } from '../../worker/dev/part.ts'
import { freePort } from '../support/servers/free-port.ts'
import type { ProcessTree } from './processes.ts'
import type { BenchSet } from './servers.ts'

const PORT_FLAG = '--health-port'

/** The processes of a crew that can be started and killed one by one. */
export class Crew {
  readonly #set: BenchSet
  readonly #group: Group
  readonly #parts = new Map<string, Part>()

  private constructor(set: BenchSet, group: Group) {
    this.#set = set
    this.#group = group
  }

  static async open(set: BenchSet): Promise<Crew> {
    return new Crew(set, await startGroup())
  }

  /** Those that run, as they are measured. */
  get processes(): readonly ProcessTree[] {
    return [...this.#parts].map(([name, { identity }]) => ({ name, pid: identity.pid }))
  }

  /** Starts one as the set's part of that name; resolves when it is ready. */
  async start(name: string, like: 'bridge' | 'worker'): Promise<void> {
    const spec = specOf(this.#set, like)
    const port = await freePort()
    const part = await startPart(withPort({ ...spec, name, logFile: `${spec.logFile}.${name}` }, port), this.#group.add)
    this.#parts.set(name, part)
  }

  /** Ends it without warning, and waits until it is gone. */
  async kill(name: string): Promise<void> {
    const part = this.#parts.get(name)
    if (part === undefined) throw new Error(`${name} was not started`)
    process.kill(part.identity.pid, 'SIGKILL')
    await part.ended
    this.#parts.delete(name)
  }

  /** Resolves when somebody else has ended it; then it may be started again. */
  async lost(name: string): Promise<void> {
    const part = this.#parts.get(name)
    if (part === undefined) throw new Error(`${name} was not started`)
    await part.ended
    this.#parts.delete(name)
  }

  /** Stops all in good order. */
  async stop(): Promise<void> {
    await this.#group.stop()
    this.#parts.clear()
  }
}

/** How the set's part of that name was started (W1). */
export function specOf(set: Pick<BenchSet, 'processes' | 'logFile'>, name: string): PartSpec {
  const tree = set.processes.find((one) => one.name === name)
  if (tree === undefined) throw new Error(`the set has no ${name}`)
  const [command = '', ...args] = fieldsOf(`/proc/${tree.pid}/cmdline`)
  const password = fieldsOf(`/proc/${tree.pid}/environ`).find((field) => field.startsWith('PGPASSWORD='))
  const env = password === undefined ? {} : { PGPASSWORD: password.slice('PGPASSWORD='.length) }
  const port = Number(args[args.indexOf(PORT_FLAG) + 1])
  return withPort({ name, command, args, env, logFile: set.logFile(name) }, port)
}

function withPort(spec: PartSpec, port: number): PartSpec {
  const at = spec.args.indexOf(PORT_FLAG)
  if (at === -1) throw new Error(`${spec.name} runs without ${PORT_FLAG}, expected it`)
  const args = spec.args.with(at + 1, String(port))
  return { ...spec, args, isReady: async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok }
}

/** Of a file in /proc whose fields end with a zero byte. */
function fieldsOf(path: string): readonly string[] {
  return readFileSync(path, 'utf8').split('\0').slice(0, -1)
}
