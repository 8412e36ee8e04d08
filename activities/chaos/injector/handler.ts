// `pawl injector chaos-handler`: the init container of a pod that is disturbed before its containers start. It waits
// for the injector. Source: spec/chaos.md 2.10 "Pod mutation".
//
// H1. Its exit code is the only result: with 0 the containers start, with 1 the kubelet restarts the handler.

import { Flags } from '../../../workflows/chaos/injector/flags.ts'
import type { Grammar } from '../../../workflows/chaos/grammar.ts'
import { durationMs, EXPECTED_DURATION } from '../../../workflows/chaos/go-duration.ts'
import type { ProgramStart } from '../../program.ts'
import { type Clock, systemClock } from './clock.ts'
import { createLog, type Log } from './log.ts'
import type { ProcessRef } from '../../../workflows/chaos/injector/command.ts'
import { isAlive, isGone } from './processes.ts'

/** The injector's signal after the injection. Source: spec/chaos.md 3.4 (5). */
const INJECTED_SIGNAL = 'SIGUSR1'
const DEFAULT_TIMEOUT_MS = 60_000

export interface HandlerParts {
  readonly clock: Clock
  /** Resolves when the injector has sent its signal; listens from the call on. */
  readonly injected: (until: AbortSignal) => Promise<void>
}

/** Waits for the injector's signal, the timeout, or the end. Returns the exit code: 0 if the containers may start. */
export async function runHandler(start: ProgramStart, parts: HandlerParts = REAL_PARTS): Promise<0 | 1> {
  const flags = new Flags(start.args)
  const timeoutMs = flags.withDefault('timeout', POSITIVE, DEFAULT_TIMEOUT_MS)
  const succeeds = flags.switch('succeed-on-timeout')
  flags.refuseUnknown()
  if (flags.problems.length > 0) {
    for (const problem of flags.problems) start.complain(`injector: ${problem}\n`)
    return 1
  }
  const { clock, injected } = parts
  const log = createLog(start.print, 'info', {}, clock.now)
  const over = new AbortController()
  const until = AbortSignal.any([start.end, over.signal])
  const signalled = injected(until).then(() => 'signalled' as const)
  const timedOut = clock.sleep(timeoutMs, until).then(() => 'late' as const)
  log?.info('waiting', { timeoutMs, succeedOnTimeout: succeeds })
  const first = await Promise.race([signalled, timedOut, ended(start.end)])
  over.abort()
  const result = start.end.aborted ? 'ended' : first
  log?.info(RESULT_MESSAGES[result])
  return result === 'signalled' || (result === 'late' && succeeds) ? 0 : 1
}

const RESULT_MESSAGES = {
  signalled: 'the pod is disturbed; its containers start',
  late: 'no injector has disturbed the pod before the timeout',
  ended: 'told to end',
} as const

const POSITIVE: Grammar<number> = {
  parse: (text) => {
    const ms = durationMs(text)
    return ms !== undefined && ms > 0 ? ms : undefined
  },
  expected: `${EXPECTED_DURATION}, more than nothing`,
}

async function ended(end: AbortSignal): Promise<'ended'> {
  if (!end.aborted) await new Promise<void>((resolve) => end.addEventListener('abort', () => resolve(), { once: true }))
  return 'ended'
}

const REAL_PARTS: HandlerParts = {
  clock: systemClock,
  async injected(until) {
    await new Promise<void>((resolve) => {
      const onSignal = () => resolve()
      process.once(INJECTED_SIGNAL, onSignal)
      until.addEventListener('abort', () => process.removeListener(INJECTED_SIGNAL, onSignal), { once: true })
    })
  },
}

const INTERVAL_MS = 500
const MAX_TRIES = 60

export interface Release {
  readonly proc: string
  readonly handler: ProcessRef
  readonly clock: Clock
  readonly log: Log
  /** Aborted when the injector ends. */
  readonly until: AbortSignal
  /** @throws `ESRCH` if the process does not exist. */
  readonly signal: (pid: number) => void
}

/** @throws if the handler still waits after the last signal. */
export async function releaseHandler({ proc, handler, clock, log, until, signal }: Release): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES && !until.aborted; tries += 1) {
    if (!(await isAlive(proc, handler))) {
      log.info('the init container of the target has ended', { tries })
      return
    }
    try {
      signal(handler.pid)
    } catch (error) {
      if (!isGone(error)) throw error
    }
    await clock.sleep(INTERVAL_MS, until)
  }
  if (!until.aborted)
    throw new Error(`process ${handler.pid} (the init container) still runs after ${MAX_TRIES} signals`)
}
