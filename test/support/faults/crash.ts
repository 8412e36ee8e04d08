// Kills a process of a lane at a chosen write and starts it again.

import type { OnWrite, WritePoint } from './http-proxy.ts'
import type { Lane } from './lane.ts'

/** The process that dies, and the write of the worker before or after which it dies. */
export interface Crash {
  readonly part: 'worker' | 'bridge'
  readonly when: 'before' | 'after'
  readonly at: WritePoint
}

/** One row of the crash table. `run` uses the lane alone and throws when an expectation fails. */
export interface CrashCase {
  readonly title: string
  readonly run: (lane: Lane) => Promise<void>
}

interface Hooks {
  /** Called for each write. */
  readonly disturb?: OnWrite
  /** Awaited while the process is dead. */
  readonly whileDead?: () => Promise<void>
}

/** Runs `act`; kills the process at the given write and starts it again. Fails when `act` makes no such write. */
export async function withCrash<T>(
  { proxy, pawl }: Pick<Lane, 'pawl' | 'proxy'>,
  { part, when, at }: Crash,
  act: () => Promise<T>,
  { disturb, whileDead }: Hooks = {},
): Promise<T> {
  const killed = new Promise<void>((resolve) =>
    proxy.arm(
      {
        at,
        when,
        async act() {
          await pawl.kill(part)
          resolve()
          // A dead worker does not read the answer. The bridge did not send the write, so its sender gets the answer.
          return part === 'worker' ? 'cut' : 'go on'
        },
      },
      disturb,
    ),
  )
  const acted = act()
  const started = killed.then(async () => {
    await whileDead?.()
    await (part === 'worker' ? pawl.startWorker() : pawl.startBridge())
  })
  const [result] = await Promise.all([acted, Promise.race([started, acted])])
  if (proxy.isArmed) throw new Error(`there was no ${at.label} number ${at.nth}`)
  await started
  return result
}

export function titleOf({ part, when, at }: Crash): string {
  return `${part} ${when} ${at.label} ${at.nth}`
}

/** The nth write of each label, in the order of a list of labels. */
export function pointsOf(labels: readonly string[]): WritePoint[] {
  return labels.map((label, index) => ({
    label,
    nth: labels.slice(0, index + 1).filter((one) => one === label).length,
  }))
}
