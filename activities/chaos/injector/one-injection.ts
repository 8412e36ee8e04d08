// One injection: one kind, into one container or node. It can be injected and cleaned many times, as pulses and restarts want it.
//
//   I1. What undoes is on disk before the first command is done; what has been undone is off it.
//   I2. Injecting twice does it once; cleaning twice is harmless.
//   I3. An injection that is told to end stops between two commands.
//   I4. What is done after readiness is done only to what is injected, and is not done again.

import {
  type Command,
  isUnsupported,
  type NetworkRef,
  type Plan,
  type Unsupported,
} from '../../../workflows/chaos/injector/command.ts'
import type { Executor, Scope } from './executor.ts'
import { type Log, textOf } from './log.ts'
import { bootId, processRef } from './processes.ts'
import { undoKey, type UndoEntry, type UndoLog } from './undo-log.ts'

/** What the pre-run finds out and plans. */
export interface Prepared {
  readonly plan: Plan | Unsupported
  readonly network?: NetworkRef
  /** Keeps it up to date while it is injected, as hosts get other addresses; ends when the signal is aborted. */
  readonly follow?: (perform: (commands: Plan['apply']) => Promise<void>, until: AbortSignal) => Promise<void>
}

export interface Injection {
  /** Names what it has written down. */
  readonly key: string
  /** Such as `network-disruption of app`. */
  readonly what: string
  /** @throws when it has not been injected, or not wholly. */
  readonly inject: (until: AbortSignal) => Promise<void>
  /**
   * Does what is left to do when its injector is ready (`Plan.afterReady`); nothing for most.
   *
   * @param isOver asked before each command.
   * @throws when not all of it was done.
   */
  readonly finish: (until: AbortSignal, isOver: () => boolean) => Promise<void>
  /** @throws with all that could not be undone. */
  readonly clean: () => Promise<void>
}

export interface InjectionParts {
  readonly what: string
  /** Finds out and plans anew, as each time the target may be another process. */
  readonly prepare: () => Promise<Prepared>
  readonly executor: Executor
  /** Undefined: nothing is written down, as nothing is done. */
  readonly undoLog: UndoLog | undefined
  readonly proc: string
  /** Name of the chaos pod; empty outside of one. */
  readonly pod: string
  /** Tell this injection from others of the pod. */
  readonly keyParts: readonly string[]
  readonly log: Log
}

export function createInjection(parts: InjectionParts): Injection {
  const key = undoKey([parts.pod, ...parts.keyParts])
  let injected: Injected | undefined
  return {
    key,
    what: parts.what,
    inject: async (until) => {
      if (injected !== undefined) return
      const { plan, network, follow } = await parts.prepare()
      if (isUnsupported(plan)) throw new Error(`Unsupported: ${plan.unsupported.join('; ')}`)
      const scope = { key, network }
      await parts.undoLog?.write(await entryOf(parts, key, plan, network))
      injected = { undo: plan.undo, scope, stop: () => Promise.resolve() }
      await performAll(parts.executor, plan.apply, { scope, until, isOver: () => until.aborted })
      injected = { ...injected, afterReady: plan.afterReady ?? [] }
      if (follow !== undefined) injected = { ...injected, stop: keepFollowing(parts, follow, scope) }
    },
    finish: async (until, isOver) => {
      if (injected?.afterReady === undefined) return
      const { afterReady, scope, ...rest } = injected
      // I4
      injected = { ...rest, scope }
      await performAll(parts.executor, afterReady, { scope, until, isOver })
    },
    clean: async () => {
      if (injected === undefined) return
      await injected.stop()
      await undoAll(parts.executor, injected.undo, injected.scope)
      await parts.undoLog?.remove(key)
      injected = undefined
    },
  }
}

/** What has been injected, wholly or in part. */
interface Injected {
  readonly undo: Plan['undo']
  readonly scope: Scope
  readonly stop: () => Promise<void>
  /** Undefined before all else was done, and when it has begun. */
  readonly afterReady?: readonly Command[]
}

/** Undoes all that can be undone. @throws with what could not. */
export async function undoAll(executor: Executor, undo: Plan['undo'], scope: Scope): Promise<void> {
  const never = new AbortController().signal
  const failures: string[] = []
  for (const command of undo)
    await executor.perform(command, scope, never).catch((error: unknown) => failures.push(textOf(error)))
  if (failures.length > 0) throw new Error(failures.join('; '))
}

interface Performing {
  readonly scope: Scope
  readonly until: AbortSignal
  readonly isOver: () => boolean
}

/** I3 */
async function performAll(
  executor: Executor,
  commands: readonly Command[],
  { scope, until, isOver }: Performing,
): Promise<void> {
  for (const command of commands) {
    if (isOver()) throw new Error('told to end before all of it was injected')
    await executor.perform(command, scope, until)
  }
}

async function entryOf(
  { proc, pod, what }: InjectionParts,
  key: string,
  { undo }: Plan,
  network: NetworkRef | undefined,
): Promise<UndoEntry> {
  const self = await processRef(proc, process.pid)
  const owner = { ...(self ?? { pid: process.pid, startTime: '' }), pod }
  const entry = { version: 1 as const, key, what, owner, undo, bootId: await bootId(proc) }
  return network === undefined ? entry : { ...entry, network }
}

/** @returns what stops it, and resolves when it has stopped. */
function keepFollowing(
  { executor, log, what }: InjectionParts,
  follow: NonNullable<Prepared['follow']>,
  scope: Scope,
): () => Promise<void> {
  const stopping = new AbortController()
  const until = stopping.signal
  const perform = async (commands: Plan['apply']) =>
    await performAll(executor, commands, { scope, until, isOver: () => until.aborted })
  const following = follow(perform, stopping.signal).catch((error: unknown) => {
    if (!stopping.signal.aborted) log.error('addresses are not followed any more', { what, error: textOf(error) })
  })
  return async () => {
    stopping.abort()
    await following
  }
}
