// One injection: one kind, into one container or node. Pulses and restarts inject and clean it up repeatedly.
//
// I1. The undo log has the undo commands before the first command is executed, and loses them after the clean-up.
// I2. A second inject without a clean-up does nothing; a second clean-up does nothing.
// I3. A terminated injection stops between two commands.
// I4. The commands after readiness run only for a complete injection, and only once.

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

/** The result of the pre-run. */
export interface Prepared {
  readonly plan: Plan | Unsupported
  readonly network?: NetworkRef
  /** Updates the injection when hosts resolve to other addresses; ends when the signal is aborted. */
  readonly follow?: (perform: (commands: Plan['apply']) => Promise<void>, until: AbortSignal) => Promise<void>
}

export interface Injection {
  /** The key in the undo log. */
  readonly key: string
  /** A title such as `network-disruption of app`. */
  readonly what: string
  /** @throws if the injection failed or is incomplete. */
  readonly inject: (until: AbortSignal) => Promise<void>
  /**
   * Executes the commands after readiness (`Plan.afterReady`); most plans have none.
   *
   * @param isOver read before each command.
   * @throws if a command failed or was not executed.
   */
  readonly finish: (until: AbortSignal, isOver: () => boolean) => Promise<void>
  /** @throws with all failed undo commands. */
  readonly clean: () => Promise<void>
}

export interface InjectionParts {
  readonly what: string
  /** Collects facts and plans; repeated for each injection, because the target may be another process. */
  readonly prepare: () => Promise<Prepared>
  readonly executor: Executor
  /** Undefined: nothing is executed, so nothing is recorded. */
  readonly undoLog: UndoLog | undefined
  readonly proc: string
  /** The name of the chaos pod; empty outside of a pod. */
  readonly pod: string
  /** Distinguishes this injection from others of the pod. */
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
      if (follow !== undefined) injected = { ...injected, stop: startUpdates(parts, follow, scope) }
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

/** A complete or partial injection. */
interface Injected {
  readonly undo: Plan['undo']
  readonly scope: Scope
  readonly stop: () => Promise<void>
  /** Undefined before all other commands have run, and once these have started. */
  readonly afterReady?: readonly Command[]
}

/** Tries all undo commands. @throws with those that failed. */
export async function undoAll(executor: Executor, undo: Plan['undo'], scope: Scope): Promise<void> {
  const never = new AbortController().signal
  const failures: string[] = []
  for (const command of undo)
    await executor.perform(command, scope, never).catch((error: unknown) => failures.push(textOf(error)))
  if (failures.length > 0) throw new Error(failures.join('; '))
}

interface Execution {
  readonly scope: Scope
  readonly until: AbortSignal
  readonly isOver: () => boolean
}

/** I3 */
async function performAll(
  executor: Executor,
  commands: readonly Command[],
  { scope, until, isOver }: Execution,
): Promise<void> {
  for (const command of commands) {
    if (isOver()) throw new Error('the injector was stopped before the injection was complete')
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

/** @returns a function that stops the updates and waits for their end. */
function startUpdates(
  { executor, log, what }: InjectionParts,
  follow: NonNullable<Prepared['follow']>,
  scope: Scope,
): () => Promise<void> {
  const stopping = new AbortController()
  const until = stopping.signal
  const perform = async (commands: Plan['apply']) =>
    await performAll(executor, commands, { scope, until, isOver: () => until.aborted })
  const following = follow(perform, stopping.signal).catch((error: unknown) => {
    if (!stopping.signal.aborted)
      log.error('the update of addresses failed; the injected addresses stay', { what, error: textOf(error) })
  })
  return async () => {
    stopping.abort()
    await following
  }
}
