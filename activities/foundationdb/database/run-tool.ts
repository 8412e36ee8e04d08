// Runs one of FoundationDB's command line tools as a child process.
//
//   P1. No shell: each argument reaches the tool unchanged.
//   P2. The child ends with the call: an abort or the time-out kills it and the processes that it started.
//   P3. The child gets only the environment variables that FoundationDB's tools read, so it sees no other secrets of the worker.
//   P4. The child's HOME is its own temporary folder: fdbcli stores a history of its commands there.

import { spawn } from 'node:child_process'
import type { Readable } from 'node:stream'

export type Environment = Readonly<Record<string, string | undefined>>

export interface ToolCall {
  /** The path of the executable. */
  readonly program: string
  readonly args: readonly string[]
  /** The environment of the worker (P3). */
  readonly environment: Environment
  /** A folder for this call only; the child's HOME. */
  readonly home: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** Standard input. Default: empty. */
  readonly input?: string
}

export interface ToolResult {
  /** Undefined if a signal ended the process. */
  readonly exitCode: number | undefined
  readonly stdout: string
  readonly stderr: string
  /** The process was killed because it ran longer than `timeoutMs`. */
  readonly hasTimedOut: boolean
}

/** 500 processes make a status document of about 2 MB. */
const MOST_OUTPUT_BYTES = 64 * 1024 * 1024

/** @throws the abort reason, and a plain Error if the program cannot be started or prints more than 64 MB. */
export async function runTool(call: ToolCall): Promise<ToolResult> {
  call.signal.throwIfAborted()
  const child = spawnTool(call)
  child.stdin.end(call.input ?? '')
  const text = { stdout: '', stderr: '' }
  let size = 0
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (chunk: string) => {
      size += chunk.length
      if (size > MOST_OUTPUT_BYTES) child.kill()
      else text[name] += chunk
    })
  const { exitCode, hasTimedOut } = await child.ended
  if (size > MOST_OUTPUT_BYTES) throw new Error(`${call.program}: printed more than ${MOST_OUTPUT_BYTES} bytes`)
  return { exitCode, hasTimedOut, ...text }
}

/** A running tool whose standard input and output the caller uses. */
export interface RunningTool {
  readonly stdin: { write(text: string): void; end(text?: string): void }
  readonly stdout: Readable
  readonly stderr: Readable
  kill(): void
  /** Rejects with the abort reason, or when the program cannot be started. */
  readonly ended: Promise<Pick<ToolResult, 'exitCode' | 'hasTimedOut'>>
}

export function spawnTool({ program, args, timeoutMs, signal, ...place }: Omit<ToolCall, 'input'>): RunningTool {
  // In its own process group, so that a kill reaches wrapper scripts and their children (P2).
  const child = spawn(program, args, { stdio: 'pipe', env: environmentOf(place), cwd: place.home, detached: true })
  const kill = () => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
  let hasTimedOut = false
  const timer = setTimeout(() => {
    hasTimedOut = true
    kill()
  }, timeoutMs)
  signal.addEventListener('abort', kill, { once: true })
  // A program that ends early does not read its input; its exit code and output say why.
  child.stdin.on('error', () => undefined)
  const ended = new Promise<Pick<ToolResult, 'exitCode' | 'hasTimedOut'>>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      if (signal.aborted) reject(signal.reason as Error)
      else resolve({ exitCode: code ?? undefined, hasTimedOut })
    })
  }).finally(() => {
    clearTimeout(timer)
    signal.removeEventListener('abort', kill)
  })
  // The caller may read the output first and await this later.
  ended.catch(() => undefined)
  return { stdin: child.stdin, stdout: child.stdout, stderr: child.stderr, kill, ended }
}

const FURTHER_NAMES: ReadonlySet<string> = new Set(['PATH', 'LANG', 'TMPDIR', 'LD_LIBRARY_PATH'])
/** Settings of multi-version clients, which would make the tool load client libraries of other versions; and the default cluster file. */
const REMOVED_NAMES = /^FDB_(?:NETWORK_OPTION_(?:EXTERNAL|IGNORE_EXTERNAL)|CLUSTER_FILE$)/

/** P3. */
function environmentOf({ environment, home }: Pick<ToolCall, 'environment' | 'home'>): Environment {
  const isPassed = (name: string) => FURTHER_NAMES.has(name) || (name.startsWith('FDB_') && !REMOVED_NAMES.test(name))
  return { ...Object.fromEntries(Object.entries(environment).filter(([name]) => isPassed(name))), HOME: home }
}
