// Bugs that workers met, listed in an object for people who look after the engine: the newest ones, with which object it was and where it was thrown.
//
//   C1. Several workers write it: each write is for the version that was read.
//   C2. It only repeats what log, journal and an Event on the object say, so that what cannot be written is logged, and nothing waits for it.

import { hostname } from 'node:os'

import type { KubeClient } from '../../activities/kube/client.ts'
import { isAlreadyExists, isConflict } from '../../activities/kube/errors.ts'
import type { Logger } from '../server/log.ts'
import { readTelling, type tellingPlace, writeTelling } from '../server/telling-object.ts'

export interface ProblemDeps {
  readonly kube: Pick<KubeClient, 'request'>
  readonly log: Pick<Logger, 'warn'>
  readonly now: () => Date
  /** Undefined: nothing is listed. */
  readonly place: ReturnType<typeof tellingPlace>
}

const TRIES = 5

/** What adds a bug to the list, one after the other. Never throws. */
export function createProblemList(deps: ProblemDeps): (description: string) => Promise<void> {
  let last = Promise.resolve()
  return (description) => (last = last.then(() => record(deps, description)))
}

async function record({ kube, log, now, place }: ProblemDeps, description: string): Promise<void> {
  if (place === undefined) return
  const { at, tells } = place
  const problem = { place: hostname(), at: now().toISOString(), description }
  for (let tries = 1; ; tries++) {
    try {
      const found = await readTelling(kube, tells.problems, at)
      await writeTelling(kube, { of: tells.problems, at, before: found }, tells.problems.with(found, problem))
      return
    } catch (error) {
      // C1
      if ((isConflict(error) || isAlreadyExists(error)) && tries < TRIES) continue
      log.warn({ err: error }, 'a bug could not be listed')
      return
    }
  }
}
