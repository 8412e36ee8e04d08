// Starts, watches and stops one server process; its output goes to a log file.
//
//   P1. A server is ready when its check succeeds. If the process ends before, the error contains its last log lines.
//   P2. Each process has its own process group, so Ctrl-C reaches only pawl, which stops the servers in order.

import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

import { childEnvironment } from '../server/config.ts'
import { readableLog } from './readable-log.ts'
import { identify, isRunning, signal, type ProcessIdentity } from '../server/process-identity.ts'

const POLL_MS = 50
const READY_LIMIT_MS = 90_000
const TERM_LIMIT_MS = 15_000

export interface PartSpec {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly logFile: string
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** User and group of the process; only root may set them. */
  readonly ids?: { readonly uid: number; readonly gid: number } | undefined
  /** The address for users and clients. */
  readonly address?: string
  /** The signal for an orderly stop; default SIGTERM. */
  readonly stopSignal?: NodeJS.Signals
  /** Time until the process is killed; default 15 s. */
  readonly stopLimitMs?: number
  /** True when the server is ready; a rejection counts as false. Default: ready after the start. */
  readonly isReady?: () => Promise<boolean>
}

export interface Part {
  readonly spec: PartSpec
  readonly identity: ProcessIdentity
  /** Resolves when the process has ended, with a sentence that says how. */
  readonly ended: Promise<string>
  /** Whether the process has been ready. */
  readonly wasReady: () => boolean
  /** Stops the process and waits until it has ended; can be called again. */
  readonly stop: () => Promise<void>
}

/**
 * Starts the process and waits until it is ready.
 *
 * @param onStart called as soon as the process exists, so that it can be watched and stopped.
 * @throws PartDiedError if the process ends first or is not ready within 90 s; it is stopped then.
 */
export async function startPart(spec: PartSpec, onStart: (part: Part) => void = () => undefined): Promise<Part> {
  const log = openSync(spec.logFile, 'a', 0o600)
  let child: ChildProcess
  try {
    child = spawn(spec.command, spec.args, {
      cwd: spec.cwd,
      env: childEnvironment(spec.env),
      stdio: ['ignore', log, log],
      // P2
      detached: true,
      ...spec.ids,
    })
  } finally {
    closeSync(log)
  }
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`))
    child.once('exit', (code, name) =>
      resolve(code === null ? `ended with signal ${name ?? 'unknown'}` : `ended with exit code ${code}`),
    )
  })
  const identity = child.pid === undefined ? undefined : identify(child.pid)
  if (identity === undefined) throw await PartDiedError.of(spec, await ended)

  let isReady = false
  const part: Part = { spec, identity, ended, wasReady: () => isReady, stop: () => stopPart(identity, ended, spec) }
  onStart(part)
  await waitUntilReady(part)
  isReady = true
  return part
}

async function waitUntilReady({ spec, ended, stop }: Part): Promise<void> {
  const { isReady } = spec
  if (isReady === undefined) return
  let death: string | undefined
  void ended.then((how) => (death = how))

  const deadline = Date.now() + READY_LIMIT_MS
  while (!(await isReady().catch(() => false))) {
    if (death !== undefined) throw await PartDiedError.of(spec, death)
    if (Date.now() > deadline) {
      await stop()
      throw await PartDiedError.of(spec, `was not ready after ${READY_LIMIT_MS / 1000} s`)
    }
    await sleep(POLL_MS)
  }
}

async function stopPart(
  identity: ProcessIdentity,
  ended: Promise<string>,
  { stopSignal = 'SIGTERM', stopLimitMs = TERM_LIMIT_MS }: PartSpec,
): Promise<void> {
  signal(identity, stopSignal)
  const timer = new AbortController()
  await Promise.race([ended, sleep(stopLimitMs, undefined, { signal: timer.signal }).catch(() => undefined)])
  timer.abort()
  if (isRunning(identity)) signal(identity, 'SIGKILL')
  await ended
}

/** The last lines of a log file; empty if the file does not exist. */
export async function lastLines(logFile: string, count = 15): Promise<string> {
  const text = await readFile(logFile, 'utf8').catch(() => '')
  return text.trimEnd().split('\n').slice(-count).join('\n')
}

/** A process that ended or did not become ready; `message` contains its last log lines. */
export class PartDiedError extends Error {
  readonly part: string
  readonly logFile: string
  /** A sentence without its subject. */
  readonly how: string

  private constructor({ name, logFile }: PartSpec, how: string, tail: string) {
    super(`${name} ${how}; last lines of ${logFile}:\n${tail}`)
    this.part = name
    this.logFile = logFile
    this.how = how
  }

  static async of(spec: PartSpec, how: string): Promise<PartDiedError> {
    return new PartDiedError(spec, how, readableLog(await lastLines(spec.logFile, 100)))
  }
}
