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

export interface DevPlace {
  readonly kubeconfigPath: string
  /** Of its own. */
  readonly folder: string
  /** Whether `pawl dev` has started the API server: its nodes and pods are simulated. */
  readonly isServerOurs: boolean
  /** What was given of flags of wings, by name. */
  readonly flags: Readonly<Record<string, string | undefined>>
}

/** How `pawl dev` runs a program beside its servers. */
export interface ProgramInDev {
  /** It is started where this wing is on. */
  readonly wing: string
  readonly args: (dev: DevPlace) => Promise<readonly string[]>
  /** A manifest of `deploy/setup/<wing>/`, as the wing needs it by its flags; absent: as it is there. */
  readonly setUp?: (manifest: string, flags: DevPlace['flags']) => Promise<string>
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
