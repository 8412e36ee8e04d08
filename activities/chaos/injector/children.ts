// Processes that work for the injector, inside the target's control groups or beside it.
//
//   P1. A child ends when the injector does, however that ends: its standard input is a pipe that only the injector holds.
//   P2. A child says `ready` when it is at work; before, the injection has not succeeded.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { kill } from 'node:process'

import type { StartCommand } from '../../../workflows/chaos/injector/command.ts'
import { CHILD_VARIABLE } from '../../../workflows/chaos/injector/marks.ts'
import { isGone, pids, processRef, variableOf } from './processes.ts'

export interface ChildSettings {
  readonly proc: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** The command line that starts an injector. */
  readonly self: readonly string[]
}

export class Children {
  private readonly running = new Map<string, ChildProcess>()
  private readonly settings: ChildSettings

  constructor(settings: ChildSettings) {
    this.settings = settings
  }

  /** @throws when it ends before it is ready, with its exit code and what it said. */
  async start({ as, args, joins }: StartCommand, key: string): Promise<void> {
    const { self, env } = this.settings
    const name = childName(key, as)
    const [program = '', ...before] = self
    const flags = [...joins.flatMap((file) => ['--join', file]), '--parent-pid', String(process.pid)]
    const child = spawn(program, [...before, ...args, ...flags], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...env, [CHILD_VARIABLE]: name },
    })
    this.running.set(name, child)
    // Its end is noticed by `exit`; a pipe to what has ended is nothing to fail for.
    child.stdin.on('error', () => undefined)
    await isReady(child, as)
  }

  /** Ends a child, also one of an injector that is gone; that there is none is success. */
  async end(as: string, key: string): Promise<void> {
    const name = childName(key, as)
    const child = this.running.get(name)
    if (child !== undefined) {
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      this.running.delete(name)
    }
    for (const pid of await childrenCalled(this.settings.proc, (found) => found === name))
      await endProcess(this.settings.proc, pid)
  }
}

/** The processes whose start was called so. */
export async function childrenCalled(proc: string, isOne: (name: string) => boolean): Promise<readonly number[]> {
  const found: number[] = []
  for (const pid of await pids(proc)) {
    const name = await variableOf(proc, pid, CHILD_VARIABLE).catch(() => undefined)
    if (name !== undefined && isOne(name) && (await processRef(proc, pid)) !== undefined) found.push(pid)
  }
  return found
}

/** Resolves when it is gone: what it holds in the target's groups is given back. */
export async function endProcess(proc: string, pid: number): Promise<void> {
  const found = await processRef(proc, pid)
  if (found === undefined) return
  try {
    kill(pid, 'SIGKILL')
  } catch (error) {
    if (!isGone(error)) throw error
  }
  while ((await processRef(proc, pid))?.startTime === found.startTime) await new Promise((next) => setTimeout(next, 5))
}

function childName(key: string, as: string): string {
  return `${key}/${as}`
}

async function isReady(child: ChildProcess, as: string): Promise<void> {
  const said = { stdout: '', stderr: '' }
  await new Promise<void>((resolve, reject) => {
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (said.stderr += text).slice(-2000))
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      said.stdout = `${said.stdout}${text}`.slice(-2000)
      if (said.stdout.includes('ready\n')) resolve()
    })
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      reject(new Error(`${as} ended before it was ready, with ${signal ?? `exit code ${code}`}: ${said.stderr.trim()}`))
    })
  })
}
