// Lets the containers of a pod start that has waited to be disturbed before: its handler is told. Source: spec/chaos.md 3.4 (5).
//
//   R1. It is told again until it has ended: one that has just been started does not listen yet, and what is said then is lost.
//   R2. Also in a dry run: that would else keep the pod from starting.

import type { ProcessRef } from '../../../workflows/chaos/injector/command.ts'
import type { Clock } from './clock.ts'
import type { Log } from './log.ts'
import { isAlive, isGone } from './processes.ts'

const EVERY_MS = 500
const MOST_TRIES = 60

export interface Release {
  readonly proc: string
  readonly handler: ProcessRef
  readonly clock: Clock
  readonly log: Log
  /** Nobody waits for it any more. */
  readonly until: AbortSignal
  /** @throws `ESRCH` when the process is not there. */
  readonly tell: (pid: number) => void
}

/** @throws when it goes on waiting, whatever it is told. */
export async function releaseHandler({ proc, handler, clock, log, until, tell }: Release): Promise<void> {
  for (let tries = 0; tries < MOST_TRIES && !until.aborted; tries += 1) {
    if (!(await isAlive(proc, handler))) {
      log.info('the target waits no more', { tries })
      return
    }
    try {
      tell(handler.pid)
    } catch (error) {
      if (!isGone(error)) throw error
    }
    await clock.sleep(EVERY_MS, until)
  }
  if (!until.aborted) throw new Error(`process ${handler.pid} still waits after it was told ${MOST_TRIES} times`)
}
