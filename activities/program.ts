// What a program of a wing is to the engine: something that runs by itself, beside Pawl's own processes, as `pawl NAME ARGUMENTS`.

/** What a program is started with; it reads nothing else of its process. */
export interface ProgramStart {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** The command line by which it starts itself again; arguments follow. */
  readonly self: readonly string[]
  /** Aborted by the first SIGINT or SIGTERM. Others change nothing: the program ends when it has cleaned up. */
  readonly end: AbortSignal
  readonly print: (text: string) => void
  /** For what is wrong with how it was started. */
  readonly complain: (text: string) => void
}

/** How `pawl dev` runs a program beside its servers. */
export interface ProgramInDev {
  /** It is started where this wing is on. */
  readonly wing: string
  /** @param folder of its own. */
  readonly args: (dev: { readonly kubeconfigPath: string; readonly folder: string }) => readonly string[]
  /** In its folder; it is ready when that is there. */
  readonly readyFile: string
}

/** One of the values of the list that `<wing>/programs.ts` exports. */
export interface WingProgram {
  /** As it stands on command lines; no name of a command of Pawl. */
  readonly name: string
  /** For `pawl --help`. */
  readonly summary: string
  /** Loads it, which is done when it is started only. What `run` answers is the exit code. */
  /** Absent: `pawl dev` starts none. */
  readonly inDev?: ProgramInDev
  readonly load: () => Promise<{ readonly run: (start: ProgramStart) => Promise<number> }>
}
