// Additional bridges and workers, with the arguments of the set's own.
//
//   W1. Arguments and environment come from /proc of the running process, so this module does not repeat how `pawl dev` starts it.
//   W2. All processes belong to one process group, which ends with the bench.

import { readFileSync } from 'node:fs'

import { type Group, startGroup } from '../../worker/dev/group.ts'
import { type Part, type PartSpec, startPart } from '../../worker/dev/part.ts'
import { freePort } from '../support/servers/free-port.ts'
import type { ProcessTree } from './processes.ts'
import type { BenchSet } from './servers.ts'

const PORT_FLAG = '--health-port'

export class ExtraProcesses {
  readonly #set: BenchSet
  readonly #group: Group
  readonly #parts = new Map<string, Part>()

  private constructor(set: BenchSet, group: Group) {
    this.#set = set
    this.#group = group
  }

  static async open(set: BenchSet): Promise<ExtraProcesses> {
    return new ExtraProcesses(set, await startGroup())
  }

  /** The running processes. */
  get processes(): readonly ProcessTree[] {
    return [...this.#parts].map(([name, { identity }]) => ({ name, pid: identity.pid }))
  }

  /** Starts a copy of the set's bridge or worker and waits until it is ready. */
  async start(name: string, like: 'bridge' | 'worker'): Promise<void> {
    const spec = specOf(this.#set, like)
    const port = await freePort()
    const part = await startPart(withPort({ ...spec, name, logFile: `${spec.logFile}.${name}` }, port), this.#group.add)
    this.#parts.set(name, part)
  }

  /** Waits until the process has ended. Then it can be started again. */
  async waitForEnd(name: string): Promise<void> {
    const part = this.#parts.get(name)
    if (part === undefined) throw new Error(`${name} was not started`)
    await part.ended
    this.#parts.delete(name)
  }

  /** Stops all processes. */
  async stop(): Promise<void> {
    await this.#group.stop()
    this.#parts.clear()
  }
}

/** The arguments and environment of the set's part (W1). */
function specOf(set: Pick<BenchSet, 'processes' | 'logFile'>, name: string): PartSpec {
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

/** The fields of a file in /proc that end with a zero byte. */
function fieldsOf(path: string): readonly string[] {
  return readFileSync(path, 'utf8').split('\0').slice(0, -1)
}
