// What a command of a wing is to the engine: something that people do with the rights of their own account, as `pawl NAME VERB`. It asks the API server
// alone, so it needs neither journal nor worker at hand.

import type { KubeClient } from './kube/client.ts'

/** What it is done with. */
export interface CommandStart {
  /** The cluster, as the person reaches it. */
  readonly kube: KubeClient
  /** That of `-n`, else that of the kubeconfig's context. */
  readonly namespace: string
  /** The person, as the API server knows him. */
  readonly who: string
  /** One line; undefined where the person does not say why. */
  readonly why: string | undefined
  /** Values of `options`, by their long names without dashes; `true` for one that takes none. */
  readonly given: Readonly<Record<string, string | true | undefined>>
  /** A line about how it goes on, for people that look on. Who has had enough ends the process; what was written stays. */
  readonly progress: (line: string) => void
}

/** What was done, for people and for programs. */
export interface CommandDone {
  readonly lines: readonly string[]
  readonly data: object
  readonly exitCode: number
}

export interface CommandOption {
  /** As in help: `--timeout <duration>`, or `--all`. */
  readonly flags: string
  readonly text: string
  /** Long names, without dashes, of those that it cannot stand beside. */
  readonly conflicts?: readonly string[]
}

export interface WingCommand {
  readonly name: string
  readonly description: string
  /** It does something, for which `--reason` may be given. */
  readonly acts?: true
  /** Beside those that every such command has: `-o`, `-n` and where the cluster is. */
  readonly options: readonly CommandOption[]
  readonly examples: readonly string[]
  /** Loads it, which is done when it is given only. A plain Error ends it with exit code 1; a `CommandUsageError` with 2. */
  readonly load: () => Promise<{ readonly run: (start: CommandStart) => Promise<CommandDone> }>
}

/** One of the values of the list that `<wing>/commands.ts` exports. */
export interface WingCommands {
  /** As it stands on command lines; no name of a command or program of Pawl. */
  readonly name: string
  /** For help. */
  readonly summary: string
  readonly commands: readonly WingCommand[]
}

/** An option has a value that it cannot have; the message says which, what was found and what was expected. */
export class CommandUsageError extends Error {}
