// Reads the output of fdbcli's commands. Source: recordings of FoundationDB 7.1.67.
//
//   F1. An exit code of 0 does not mean success: a wrong address in `exclude` or `coordinators` exits with 0. The text decides.
//   F2. A time-out means "unknown": a `configure` or `exclude` that timed out may be in force.
//   F3. `kill` may exit with 1 after the processes were killed: the second `kill` of an upgrade does not reach them any more.

import { decodePrinted } from './fdbcli-token.ts'
import type { ToolResult } from './run-tool.ts'

/** Why a command failed. `timeout`: whether it was carried out is unknown (F2). `refused`: it was not. `exists`: `configure new` on a configured database. */
export type FailureKind = 'timeout' | 'refused' | 'exists'

/** A command that failed. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
  readonly kind: FailureKind

  constructor(kind: FailureKind, message: string) {
    super(message)
    this.kind = kind
  }
}

/** Lines that are no part of a command's result; fdbcli prints them after 5 s. */
const NOTICES = [
  /^WARNING: Long delay \(Ctrl-C to interrupt\)$/,
  /^The database is (?:un)?available\b.*$/,
  /^>>> /,
  /^$/,
]

export function timedOut({ hasTimedOut, stderr }: ToolResult): boolean {
  return hasTimedOut || stderr.includes('Specified timeout reached')
}

/**
 * Checks that a command was not refused.
 *
 * @param command its name for the message, such as `configure`.
 * @throws CommandFailure
 */
export function checkCommand(command: string, result: ToolResult): void {
  if (timedOut(result)) throw new CommandFailure('timeout', `${command}: fdbcli reached its time-out`)
  const refusal = refusalIn(result)
  if (refusal !== undefined) throw new CommandFailure('refused', `${command}: ${refusal}`)
  if (result.exitCode !== 0)
    throw new CommandFailure('refused', `${command}: exit code ${result.exitCode}: ${resultLines(result).join(' ')}`)
}

/** The first line that reports an error, with the line behind it, which often has the remedy. */
function refusalIn({ stdout, stderr }: ToolResult): string | undefined {
  const lines = [...stderr.split('\n'), ...stdout.split('\n')].map((line) => line.trim())
  const at = lines.findIndex((line) => /^(?:ERROR|Error): /.test(line))
  if (at >= 0) return lines[at]?.replace(/^(?:ERROR|Error): /, '')
  return lines.find((line) => line.startsWith('Usage: '))?.slice(0, 200)
}

function resultLines({ stdout, stderr }: ToolResult): readonly string[] {
  return [...stdout.split('\n'), ...stderr.split('\n')].filter((line) => !NOTICES.some((notice) => notice.test(line)))
}

/** The state of one excluded address, as `exclude` reports it. */
export interface ExclusionReport {
  /** As printed: `127.0.0.4`, `127.0.0.4:4501`; for a locality the addresses of its processes, or the locality if no process has it. */
  readonly target: string
  readonly state: 'excluded' | 'in progress' | 'missing'
}

const EXCLUSION_STATES = [
  [/^Successfully excluded\./, 'excluded'],
  [/^WARNING: Exclusion in progress!/, 'in progress'],
  [/^WARNING: (?:Missing from cluster!|Currently no servers found)/, 'missing'],
] as const

/** @throws CommandFailure if the exclusion was refused, or timed out (F2). */
export function parseExclude(result: ToolResult): readonly ExclusionReport[] {
  checkCommand('exclude', result)
  return [...result.stdout.split('\n'), ...result.stderr.split('\n')].flatMap((line) => {
    const [, target, text] = /^ {2}(\S+?)(?:\(Whole machine\))? {2}---- (.*)$/.exec(line) ?? []
    const state = EXCLUSION_STATES.find(([pattern]) => text !== undefined && pattern.test(text))?.[1]
    return target === undefined || state === undefined ? [] : [{ target, state }]
  })
}

/** @returns the excluded addresses and localities of `exclude` without arguments. */
export function parseExclusions(result: ToolResult): readonly string[] {
  checkCommand('exclude', result)
  return result.stdout.split('\n').flatMap((line) => /^ {2}(\S+)$/.exec(line)?.[1] ?? [])
}

/** F3. @param count number of addresses. @throws CommandFailure unless all processes were sent the request. */
export function checkKill(result: ToolResult, count: number): void {
  const attempts = [...result.stdout.matchAll(/^Attempted to kill (\d+) processes$/gm)]
  if (attempts.some(([, killed]) => Number(killed) === count)) return
  checkCommand('kill', result)
  throw new CommandFailure('refused', `kill: fdbcli did not report that it killed ${count} processes`)
}

/** @throws CommandFailure unless the coordinators are the requested ones now. */
export function checkCoordinators(result: ToolResult): void {
  checkCommand('coordinators', result)
  if (/^Coordination state changed$/m.test(result.stdout) || /^No change \(/m.test(result.stdout)) return
  throw new CommandFailure('refused', `coordinators: ${resultLines(result).join(' ')}`)
}

/** @throws CommandFailure unless the configuration was accepted. */
export function checkConfigure(result: ToolResult): void {
  if (result.stderr.includes('ERROR: Database already exists!'))
    throw new CommandFailure('exists', 'configure: the database exists already')
  checkCommand('configure', result)
  if (/^(?:Database created|Configuration changed)(?:, with warnings)?$/m.test(result.stdout)) return
  throw new CommandFailure('refused', `configure: ${resultLines(result).join(' ')}`)
}

export interface KeyValue {
  readonly key: Uint8Array
  readonly value: Uint8Array
}

/** The pairs that `get` and `getrange` printed. */
export function parsePairs(stdout: string): readonly KeyValue[] {
  return [...stdout.matchAll(/^`(.*?)' is `(.*)'$/gm)].map(([, key = '', value = '']) => ({
    key: decodePrinted(key),
    value: decodePrinted(value),
  }))
}

/** The version that `--version` reports. @throws a plain Error for other output. */
export function parseVersion(stdout: string): { readonly version: string; readonly protocol: string } {
  const version = /\(v(\d+\.\d+\.\d+)[^)]*\)/.exec(stdout)?.[1]
  const protocol = /^protocol (\w+)$/m.exec(stdout)?.[1]
  if (version === undefined || protocol === undefined)
    throw new Error(`--version: found ${JSON.stringify(stdout.slice(0, 200))}; expected a version and a protocol`)
  return { version, protocol }
}
