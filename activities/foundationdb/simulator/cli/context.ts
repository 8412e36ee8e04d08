// Types and answers that all commands of fdbcli share.

import type { Clock } from '../core/clock.ts'
import type { ConnectionString } from '../core/connection-string.ts'
import type { Client } from './gateway.ts'
import type { Transaction } from './transaction.ts'

/** The world of one run of a tool. */
export interface Host {
  /** The version that the tool reports. */
  readonly version: string
  readonly clock: Clock
  /** Real seconds of one second of the clock. */
  readonly timeScale: number
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly stdout: (text: string) => void
  readonly stderr: (text: string) => void
  /** Lines of stdin. */
  readonly input: AsyncIterator<string>
  /** @throws an error with `code` ENOENT or EISDIR. */
  readonly readFile: (path: string) => string
  /** @throws if the file cannot be written. */
  readonly writeFile: (path: string, text: string) => void
  readonly isDirectory: (path: string) => boolean
  /** A number of 0 to 1. */
  readonly random: () => number
  /** Unix time in seconds. */
  readonly wallSeconds: () => number
}

export interface ClusterFile {
  readonly path: string
  /** The content of the file. */
  readonly connection: ConnectionString
}

/** `failed`: the exit code is 1, and the commands after it do not run. */
export type Outcome = 'done' | 'failed' | 'quit'

export interface Context {
  readonly host: Host
  readonly client: Client
  /** Changes when fdbcli writes a newer connection string. */
  file: ClusterFile
  /** True for commands from stdin. */
  readonly interactive: boolean
  /** Addresses that `kill` may name, with the processes' incarnations; filled by `kill` without addresses. */
  readonly killable: Map<string, string>
  /** Options that are on, with their arguments. */
  readonly options: Map<string, string | undefined>
  writeMode: boolean
  /** Set between `begin` and `commit`. */
  transaction: Transaction | undefined
}

/** Words are byte strings; the first one is the command. */
export type Command = (context: Context, words: readonly string[]) => Promise<Outcome> | Outcome

export function usage(context: Context, text: string): Outcome {
  context.host.stdout(`Usage: ${text}\n`)
  return 'failed'
}

export function failure(context: Context, text: string): Outcome {
  context.host.stderr(`ERROR: ${text}\n`)
  return 'failed'
}
