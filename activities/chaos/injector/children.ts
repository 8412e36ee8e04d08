// Child processes of the injector, inside or outside of the target's control groups.
//
// P1. A child ends when the injector ends for any reason: its standard input is a pipe that only the injector holds.
// P2. A child prints `ready` when it works; before, the injection has not succeeded.

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

  /** @throws if the child ends before it is ready, with its exit code and its output. */
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
    // The `exit` event reports the end of the child; a broken pipe is not an error.
    child.stdin.on('error', () => undefined)
    await isReady(child, as)
  }

  /** Ends a child, including a child of a previous injector; no child is a success. */
  async end(as: string, key: string): Promise<void> {
    const name = childName(key, as)
    const child = this.running.get(name)
    if (child !== undefined) {
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      this.running.delete(name)
    }
    for (const pid of await childrenNamed(this.settings.proc, (found) => found === name))
      await endProcess(this.settings.proc, pid)
  }
}

/** The processes with a matching child name in their environment. */
export async function childrenNamed(proc: string, isOne: (name: string) => boolean): Promise<readonly number[]> {
  const found: number[] = []
  for (const pid of await pids(proc)) {
    const name = await variableOf(proc, pid, CHILD_VARIABLE).catch(() => undefined)
    if (name !== undefined && isOne(name) && (await processRef(proc, pid)) !== undefined) found.push(pid)
  }
  return found
}

/** Resolves when the process is gone, so that its memory in the target's groups is free. */
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
  const output = { stdout: '', stderr: '' }
  await new Promise<void>((resolve, reject) => {
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (output.stderr += text).slice(-2000))
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output.stdout = `${output.stdout}${text}`.slice(-2000)
      if (output.stdout.includes('ready\n')) resolve()
    })
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      reject(
        new Error(`${as} ended before it was ready, with ${signal ?? `exit code ${code}`}: ${output.stderr.trim()}`),
      )
    })
  })
}
