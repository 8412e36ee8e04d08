// What an injector does to a machine, as data: it is planned without touching anything, shown by a dry run, and written down before it is done.
//
//   C1. Undoing needs no memory: a list of commands and the target that it names are enough, also in another process.
//   C2. Every undo is harmless when what it undoes is gone, or was never done.

import type { EndpointAlteration } from './invocation.ts'

/** A network namespace: the process in which it was found, and the number by which the kernel knows it. */
export interface NetworkRef {
  readonly pid: number
  /** Of the file /proc/PID/ns/net; it outlives the process while another holds the namespace. */
  readonly inode: number
}

/** A process that is not mistaken for a later one with its number. */
export interface ProcessRef {
  readonly pid: number
  /** Field 22 of /proc/PID/stat: ticks since the machine has started. */
  readonly startTime: string
}

/** How a program says that what it was to remove is not there. */
export interface GoneAnswer {
  readonly code: number
  /** A word of its standard error; absent: the code alone says so. */
  readonly says?: string
}

/** Runs a program. */
export interface RunCommand {
  readonly do: 'run'
  readonly argv: readonly string[]
  /** Whose network it sees; of `target` there may be none. */
  readonly in: 'target' | 'own'
  readonly input?: string
  readonly gone?: readonly GoneAnswer[]
}

/** Writes a text into a file of the kernel, in one write. */
export interface WriteCommand {
  readonly do: 'write'
  readonly path: string
  readonly text: string
  /** The file may be missing, as of a control group that is gone. */
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

/** Starts a child of the injector, which ends with it. */
export interface StartCommand {
  readonly do: 'start'
  /** By which `end` finds it. */
  readonly as: string
  /** Of the injector itself: an internal subcommand. */
  readonly args: readonly string[]
  /** Files cgroup.procs into which the child writes its number before it works. */
  readonly joins: readonly string[]
}

export interface EndCommand {
  readonly do: 'end'
  readonly as: string
}

/** Asks the API server. */
export interface ClusterCommand {
  readonly do: 'cluster'
  readonly method: 'PATCH' | 'DELETE'
  readonly path: string
  /** A merge patch, or how to delete. */
  readonly body: unknown
  readonly mayBeGone?: true
}

/** Tells the listener inside of an application how to answer its callers. */
export interface ListenerCommand {
  readonly do: 'listener'
  /** As `address:port`. */
  readonly address: string
  /** Undefined: as it would by itself. */
  readonly alterations?: readonly EndpointAlteration[]
}

export type Command =
  RunCommand | WriteCommand | SignalCommand | WaitCommand | StartCommand | EndCommand | ClusterCommand | ListenerCommand

/** What is done, in this order, and what undoes it, in this order. */
export interface Plan {
  readonly apply: readonly Command[]
  readonly undo: readonly Command[]
  /** What is done when whoever waits for it has been told that it is injected, because nobody could be told after it. It is called off by a signal. */
  readonly afterReady?: readonly Command[]
}

/** Why a disruption cannot be injected here; found before anything is done. */
export interface Unsupported {
  /** One sentence each: what is asked for, and what this machine lacks. */
  readonly unsupported: readonly string[]
}

export function isUnsupported(planned: Plan | Unsupported): planned is Unsupported {
  return 'unsupported' in planned
}

/** One line, as a shell would be given it; for logs and golden files. */
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
