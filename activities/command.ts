// The interface of a wing's commands: actions of a user under the user's own account, as `pawl NAME VERB`. A command
// uses the API server, and programs of the user's machine; it needs neither journal nor worker.

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
  /** Values of `options` by long name without dashes; `true` for an option without value, values of a list joined by commas. */
  readonly given: Readonly<Record<string, string | true | undefined>>
  /** The words of `argument`; empty without one. */
  readonly words: readonly string[]
  /** The environment of the process. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Aborted when the user ends the process; child processes must end with it. */
  readonly end: AbortSignal
  /**
   * Asks the user a question; true for yes. `--yes` answers it. Ends the command with exit code 2 if the standard input is no terminal.
   */
  readonly confirm: (question: string) => Promise<boolean>
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
  /** Shells complete the value with the names of objects of this kind, by its short name. */
  readonly namesOf?: string
  /** The option may be given several times, or with values separated by commas. */
  readonly isList?: true
  /** Long names, without dashes, of options that conflict with this one. */
  readonly conflicts?: readonly string[]
}

/** The words after the name of a command. */
export interface CommandArgument {
  /** As in help: `<node>`, `[cluster]` if it may be missing, `<id...>` for several words. */
  readonly usage: string
  readonly text: string
  /** As for an option. */
  readonly namesOf?: string
}

export interface WingCommand {
  /** One word, or two: `show` of the group `status` is `status show`. */
  readonly name: string
  readonly description: string
  readonly argument?: CommandArgument
  /** The command changes objects, so `--reason` may be given. */
  readonly acts?: true
  /** The command calls `confirm`, so `--yes` may be given. */
  readonly asks?: true
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
  /** Texts for help of the groups of commands with two words, by the first word. */
  readonly groups?: Readonly<Record<string, string>>
  /**
   * Loads the check that `pawl doctor --NAME` runs in place of its own checks. The check only reads. `given` has
   * `all-namespaces` if the user names no namespace.
   */
  readonly check?: WingCommand['load']
}

/** An option has an invalid value; the message names the option, its value and the expected value. */
export class CommandUsageError extends Error {}
