// The interface of a wing's programs: processes in addition to Pawl's own, as `pawl NAME ARGUMENTS`.

/** Input of a program; it reads nothing else from its process. */
export interface ProgramStart {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** The command line to start the program again; arguments are appended. */
  readonly self: readonly string[]
  /** Aborted by the first SIGINT or SIGTERM. Later signals have no effect: the program ends after its clean-up. */
  readonly end: AbortSignal
  readonly print: (text: string) => void
  /** Prints a problem with its arguments or environment. */
  readonly complain: (text: string) => void
}

/** One of the values of the list that `<wing>/programs.ts` exports. */
export interface WingProgram {
  /** Name on the command line; it differs from all commands of Pawl. */
  readonly name: string
  /** Text for `pawl --help`. */
  readonly summary: string
  /** Loads the program when it is started. `run` returns the exit code. */
  readonly load: () => Promise<{ readonly run: (start: ProgramStart) => Promise<number> }>
}
