// Executes planned commands on the machine.

import { open } from 'node:fs/promises'
import { kill } from 'node:process'

import {
  type ClusterCommand,
  type Command,
  commandText,
  type NetworkRef,
  type RunCommand,
  type SignalCommand,
  type WriteCommand,
} from '../../../workflows/chaos/injector/command.ts'
import type { Children } from './children.ts'
import type { Cluster } from './cluster-client.ts'
import type { Clock } from './clock.ts'
import type { Log } from './log.ts'
import { isAlive, isGone, networkPath, cgroupNamespaceArguments } from './processes.ts'
import type { Run } from './shell.ts'

/** The injection that a command belongs to. */
export interface Scope {
  /** Distinguishes the children of this injection from others. */
  readonly key: string
  /** Undefined: the target has no network namespace to enter. */
  readonly network: NetworkRef | undefined
}

export interface Executor {
  /**
   * Executes one command. An undo whose object does not exist is a success.
   *
   * @throws with the command and the answer of the machine.
   */
  readonly perform: (command: Command, scope: Scope, until: AbortSignal) => Promise<void>
}

export interface Machine {
  /** The mount point of /proc. */
  readonly proc: string
  readonly run: Run
  readonly clock: Clock
  readonly children: Children
  readonly cluster: Cluster | undefined
}

/** The executor that changes the machine. */
export function realExecutor(machine: Machine): Executor {
  return {
    perform: async (command, scope, until) => {
      switch (command.do) {
        case 'run':
          await runInside(machine, command, scope)
          return
        case 'write':
          await writeFile(command)
          return
        case 'signal':
          await sendSignal(machine, command)
          return
        case 'wait':
          await machine.clock.sleep(command.ms, until)
          return
        case 'start':
          await machine.children.start(command, scope.key)
          return
        case 'end':
          await machine.children.end(command.as, scope.key)
          return
        case 'cluster':
          await askCluster(machine, command)
          return
        case 'listener': {
          const { configureListener: tellListener } = await import('./grpc/listener.ts')
          await tellListener(command)
        }
      }
    },
  }
}

/** The executor that only logs the commands. */
export function dryExecutor(log: Log): Executor {
  return {
    perform: (command) => {
      log.info('dry run: would run', { command: commandText(command) })
      return Promise.resolve()
    },
  }
}

async function runInside({ proc, run }: Machine, command: RunCommand, { network }: Scope): Promise<void> {
  const path = command.in === 'target' && network !== undefined ? await networkPath(proc, network) : undefined
  if (command.in === 'target' && path === undefined) {
    // The namespace and everything in it disappeared with its last process.
    if (command.gone !== undefined) return
    throw new Error(`${commandText(command)}: the network namespace of the target does not exist any more`)
  }
  // Paths of control groups are relative to the node's cgroup namespace.
  const enter = path === undefined ? [] : ['nsenter', `--net=${path}`, ...(await cgroupNamespaceArguments(proc)), '--']
  const { code, stderr } = await run([...enter, ...command.argv], command.input)
  const isGoneAlready = (command.gone ?? []).some((one) => one.code === code && stderr.includes(one.says ?? ''))
  if (code === 0 || isGoneAlready) return
  throw new Error(`${commandText(command)}: exit code ${code}: ${stderr.trim()}`)
}

/** A single write, as kernel files require; the file is not created. */
async function writeFile({ path, text, mayBeGone }: WriteCommand): Promise<void> {
  try {
    const file = await open(path, 'r+')
    try {
      await file.write(text)
    } finally {
      await file.close()
    }
  } catch (error) {
    if (mayBeGone === true && isGone(error)) return
    throw new Error(`write '${text}' to ${path}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}

async function sendSignal({ proc }: Machine, { signal, process }: SignalCommand): Promise<void> {
  if (!(await isAlive(proc, process)))
    throw new Error(`send ${signal} to process ${process.pid}: the process does not exist`)
  kill(process.pid, signal)
}

async function askCluster({ cluster }: Machine, command: ClusterCommand): Promise<void> {
  if (cluster === undefined) throw new Error(`${commandText(command)}: the injector has no connection to a cluster`)
  const { isNotFound } = await import('../../kube/errors.ts')
  const { method, path, body, mayBeGone } = command
  const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
  try {
    await (await cluster.client()).request(method, path, { body, contentType })
  } catch (error) {
    if (!(mayBeGone === true && isNotFound(error))) throw error
  }
}
