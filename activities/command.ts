// The interface of a wing's commands: actions of a user under the user's own account, as `pawl NAME VERB`. A command
// uses the API server only, so it needs neither journal nor worker.

import type { KubeClient } from './kube/client.ts'

/** Input of a command. */
export interface CommandStart {
  /** Client with the user's credentials. */
  readonly kube: KubeClient
  /** Namespace from `-n`, otherwise from the kubeconfig's context. */
  readonly namespace: string
  /** The user's name on the API server. */
  readonly who: string
  /** The reason that the user gave, one line; undefined without one. */
  readonly why: string | undefined
  /** Values of `options` by long name without dashes; `true` for an option without value. */
  readonly given: Readonly<Record<string, string | true | undefined>>
  /** Prints a line of progress. The user may end the process at any time; finished writes stay. */
  readonly progress: (line: string) => void
}

/** Result of a command, as text and as data. */
export interface CommandDone {
  readonly lines: readonly string[]
  readonly data: object
  readonly exitCode: number
}

export interface CommandOption {
  /** As in help: `--timeout <duration>`, or `--all`. */
  readonly flags: string
  readonly text: string
  /** Long names, without dashes, of options that conflict with this one. */
  readonly conflicts?: readonly string[]
}

export interface WingCommand {
  readonly name: string
  readonly description: string
  /** The command changes objects, so `--reason` may be given. */
  readonly acts?: true
  /** Options in addition to `-o`, `-n` and the cluster options, which every command has. */
  readonly options: readonly CommandOption[]
  readonly examples: readonly string[]
  /** Loads the command when it is used. A plain Error ends it with exit code 1, a `CommandUsageError` with 2. */
  readonly load: () => Promise<{ readonly run: (start: CommandStart) => Promise<CommandDone> }>
}

/** One of the values of the list that `<wing>/commands.ts` exports. */
export interface WingCommands {
  /** Name on the command line; it differs from all commands and programs of Pawl. */
  readonly name: string
  /** Text for help. */
  readonly summary: string
  readonly commands: readonly WingCommand[]
  /**
   * Loads the check that `pawl doctor --NAME` runs in place of its own checks. The check only reads. `given` has
   * `all-namespaces` if the user names no namespace.
   */
  readonly check?: WingCommand['load']
}

/** An option has an invalid value; the message names the option, its value and the expected value. */
export class CommandUsageError extends Error {}
