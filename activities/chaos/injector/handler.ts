// `pawl injector chaos-handler`: the init container of a pod that is to be disturbed before its containers start. It waits for the injector. Source:
// spec/chaos.md 2.10 "Pod mutation".
//
//   H1. What comes of it is its exit code alone: with 0 the containers of the pod start, with 1 they do not, and the kubelet tries again.

import { Flags } from '../../../workflows/chaos/injector/flags.ts'
import type { Grammar } from '../../../workflows/chaos/grammar.ts'
import { durationMs, EXPECTED_DURATION } from '../../../workflows/chaos/go-duration.ts'
import type { ProgramStart } from '../../program.ts'
import { type Clock, systemClock } from './clock.ts'
import { createLog } from './log.ts'

/** By which the injector says that the target is disturbed. Source: spec/chaos.md 3.4 (5). */
const INJECTED_SIGNAL = 'SIGUSR1'
const DEFAULT_TIMEOUT_MS = 60_000

export interface HandlerParts {
  readonly clock: Clock
  /** Resolves when the injector has told; listens from the call on. */
  readonly injected: (until: AbortSignal) => Promise<void>
}

/** Runs until it is told, its time is over or it is to end. Returns the exit code: 0 when the containers may start. */
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
  const isTold = injected(until).then(() => 'told' as const)
  const isLate = clock.sleep(timeoutMs, until).then(() => 'late' as const)
  log?.info('waiting', { timeoutMs, succeedOnTimeout: succeeds })
  const first = await Promise.race([isTold, isLate, ended(start.end)])
  over.abort()
  const result = start.end.aborted ? 'ended' : first
  log?.info(WHAT[result])
  return result === 'told' || (result === 'late' && succeeds) ? 0 : 1
}

const WHAT = {
  told: 'the pod is disturbed: its containers may start',
  late: 'nobody has disturbed the pod in time',
  ended: 'told to end',
} as const

const POSITIVE: Grammar<number> = {
  reads: (text) => {
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
      const heard = () => resolve()
      process.once(INJECTED_SIGNAL, heard)
      until.addEventListener('abort', () => process.removeListener(INJECTED_SIGNAL, heard), { once: true })
    })
  },
}
