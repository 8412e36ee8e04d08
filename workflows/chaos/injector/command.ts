// The commands of an injection, as data: a plan is computed without side effects, printed by a dry run, and written to
// the undo log before it is executed.
//
// C1. Undoing needs no memory: the list of undo commands and their target suffice, even in another process.
// C2. Every undo command is harmless if its effect no longer exists or never existed.

import type { EndpointAlteration } from './invocation.ts'

/** A network namespace: a process in it and the kernel's inode number. */
export interface NetworkRef {
  readonly pid: number
  /** The inode of /proc/PID/ns/net; it outlives the process while another process is in the namespace. */
  readonly inode: number
}

/** A process that cannot be confused with a later process with the same number. */
export interface ProcessRef {
  readonly pid: number
  /** Field 22 of /proc/PID/stat: clock ticks since boot. */
  readonly startTime: string
}

/** The answer of a program if the object to remove does not exist. */
export interface GoneAnswer {
  readonly code: number
  /** A part of its standard error; absent: the exit code suffices. */
  readonly says?: string
}

/** Runs a program. */
export interface RunCommand {
  readonly do: 'run'
  readonly argv: readonly string[]
  /** The network namespace of the program; `target` may not exist any more. */
  readonly in: 'target' | 'own'
  readonly input?: string
  readonly gone?: readonly GoneAnswer[]
}

/** Writes a text to a kernel file, in one write. */
export interface WriteCommand {
  readonly do: 'write'
  readonly path: string
  readonly text: string
  /** The file may be missing, for example because the control group was removed. */
  readonly mayBeGone?: true
}

export interface SignalCommand {
  readonly do: 'signal'
  readonly signal: 'SIGTERM' | 'SIGKILL'
  readonly process: ProcessRef
}

export interface WaitCommand {
  readonly do: 'wait'
  readonly ms: number
}

/** Starts a child process of the injector, which ends with the injector. */
export interface StartCommand {
  readonly do: 'start'
  /** The name by which `end` finds the child. */
  readonly as: string
  /** An internal subcommand of the injector. */
  readonly args: readonly string[]
  /** cgroup.procs files into which the child writes its PID before it starts working. */
  readonly joins: readonly string[]
}

export interface EndCommand {
  readonly do: 'end'
  readonly as: string
}

/** Sends a request to the API server. */
export interface ClusterCommand {
  readonly do: 'cluster'
  readonly method: 'PATCH' | 'DELETE'
  readonly path: string
  /** A merge patch, or DeleteOptions. */
  readonly body: unknown
  readonly mayBeGone?: true
}

/** Configures the disruption listener inside a gRPC application. */
export interface ListenerCommand {
  readonly do: 'listener'
  /** As `address:port`. */
  readonly address: string
  /** Undefined: the application answers normally. */
  readonly alterations?: readonly EndpointAlteration[]
}

export type Command =
  RunCommand | WriteCommand | SignalCommand | WaitCommand | StartCommand | EndCommand | ClusterCommand | ListenerCommand

/** The commands of the injection and of its undo, both in order. */
export interface Plan {
  readonly apply: readonly Command[]
  readonly undo: readonly Command[]
  /** Commands that run after the readiness report, because no report is possible afterwards. A signal cancels them. */
  readonly afterReady?: readonly Command[]
}

/** The reasons why a disruption cannot be injected here, known before any command runs. */
export interface Unsupported {
  /** One sentence each: the requested effect and the missing capability. */
  readonly unsupported: readonly string[]
}

export function isUnsupported(planned: Plan | Unsupported): planned is Unsupported {
  return 'unsupported' in planned
}

/** One line in shell syntax, for logs and golden files. */
export function commandText(command: Command): string {
  switch (command.do) {
    case 'run':
      return [command.argv.join(' '), ...(command.input === undefined ? [] : [`<<EOF\n${command.input}EOF`])].join(' ')
    case 'write':
      return `write '${command.text}' to ${command.path}`
    case 'signal':
      return `send ${command.signal} to process ${command.process.pid}`
    case 'wait':
      return `wait ${command.ms} ms`
    case 'start':
      return `start ${command.as}: ${command.args.join(' ')}`
    case 'end':
      return `end ${command.as}`
    case 'cluster':
      return `${command.method} ${command.path} ${JSON.stringify(command.body)}`
    case 'listener':
      return `${command.alterations === undefined ? 'reset' : 'disrupt'} the listener at ${command.address}`
  }
}
