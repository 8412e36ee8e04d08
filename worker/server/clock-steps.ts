// Clocks that are set while the process runs, by a person or by a time service: what is due by them may be due at once, or has become due much later.
//
//   S1. What is told is a step, not a drift: clocks that are brought right slowly, or are only wrong, are told of by nobody here.

import { readFileSync } from 'node:fs'
import { randomUUID } from 'node:crypto'

import type { ClockReading } from '../../workflows/kit/index.ts'
import { pause } from './backoff.ts'
import type { JournalClock } from './journal-clock.ts'
import type { Logger } from './log.ts'

/** How late a step is noticed, of the machine's clock. That of the database is read more rarely. */
const LOOK_MS = 1000
/** The database's clock is known to half of how long its answer took (journal-clock.ts, J2); on a busy machine the first one may have taken seconds. */
const STEP_MS = 5000

export interface ClockStep {
  readonly clock: 'machine' | 'database'
  /** Milliseconds, negative when it was set back. */
  readonly byMs: number
}

export interface ClockSteps {
  /** Calls after each step. */
  readonly onSet: (listener: () => void) => void
  /** Looks at the clocks, until the signal. */
  readonly follow: (log: Pick<Logger, 'warn'>, signal: AbortSignal) => Promise<void>
}

/**
 * @param clocks milliseconds since 1970.
 * @param steady milliseconds of a clock that nobody sets.
 */
export function createClockSteps(
  clocks: Readonly<Record<ClockStep['clock'], () => number>>,
  steady: () => number = () => performance.now(),
): ClockSteps {
  const listeners = new Set<() => void>()
  const find = stepFinder(clocks, steady)
  return {
    onSet: (listener) => void listeners.add(listener),
    async follow(log, signal) {
      while (!signal.aborted) {
        const steps = find()
        for (const step of steps) log.warn(step, 'a clock was set: what waits for a time is looked at again')
        if (steps.length > 0) for (const listener of listeners) listener()
        await pause(LOOK_MS, signal)
      }
    },
  }
}

/** @returns what finds the steps since it was called last. */
export function stepFinder(
  clocks: Readonly<Record<ClockStep['clock'], () => number>>,
  steady: () => number,
): () => readonly ClockStep[] {
  const looked = new Map<ClockStep['clock'], number>()
  return () =>
    (['machine', 'database'] as const).flatMap((clock) => {
      const off = clocks[clock]() - steady()
      const byMs = Math.round(off - (looked.get(clock) ?? off))
      looked.set(clock, off)
      return Math.abs(byMs) > STEP_MS ? [{ clock, byMs }] : []
    })
}

/** What passes are told of the time (`ClockReading`). */
export function clockReader({ now }: Pick<JournalClock, 'now'>): () => ClockReading {
  const steadyOf = startOfMachine()
  return () => ({
    machineMs: Date.now(),
    journalMs: now().getTime(),
    steadyMs: Number(process.hrtime.bigint() / 1_000_000n),
    steadyOf,
  })
}

/** All processes of a machine have one steady clock from its start on, where the machine says which start that is. */
function startOfMachine(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    // No Linux: then this process has a clock of its own.
    return randomUUID()
  }
}
