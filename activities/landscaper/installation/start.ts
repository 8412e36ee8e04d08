// The beginning of an Installation's job: what is there, and the job's first two writes, status and then metadata. Two endpoints, so a crash between
// them must lead to exactly one job: the first write claims it, the second is repeated until it is done.
// Source: docs/architecture.md "A root's new job".

import { type NewJobTarget, type By, isIdle, type Subject } from '../../../workflows/kit/index.ts'
import { beginActivities } from '../../run/begin-job.ts'
import type { LandscaperDeps } from '../deps.ts'
import { adoptActivities, isToBeAdopted } from './adopt.ts'
import { type InstallationObservation, observeActivities } from './observe.ts'
import type { InstallationView } from './views.ts'

export interface StartInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  /** As in the run's input: the job begins on it without a read. */
  readonly asked?: NewJobTarget | undefined
}

export interface StartedInstallation extends InstallationObservation {
  /**
   * `begun`: both writes are made, and `target` is as they left it. `superseded`: the object or another run came before.
   * Undefined: the job had begun, or nothing asks for it.
   */
  readonly start: 'begun' | 'superseded' | undefined
}

export const startActivities = (deps: LandscaperDeps) => {
  const act = { ...observeActivities(deps), ...beginActivities(deps), ...adoptActivities(deps) }

  async function begin(input: StartInput, target: InstallationView): Promise<InstallationView | undefined> {
    const begun = await act.beginJob({ ...input, target })
    if (begun === undefined) return undefined
    const own = { ...target, ...begun, lastError: begun.lastError }
    return isToBeAdopted(own, true) ? await act.adoptInstallation({ ...input, target: own, isFresh: true }) : own
  }

  /** The answer to the first write has the whole object, so that the look need not read it. */
  async function beginUnread(input: StartInput, asked: NewJobTarget): Promise<StartedInstallation> {
    const { by, subject, jobID } = input
    const begun = await act.beginJob({ ...input, target: asked })
    const seen = await act.observeInstallation({ by, subject, known: {} })
    if (begun === undefined) return { ...seen, start: 'superseded' }
    const { target } = seen
    // What an earlier try of it has begun, or others have changed since, is looked at by the first step.
    if (!begun.wrote || target?.jobID !== jobID) return { ...seen, start: undefined }
    const adopted = isToBeAdopted(target, true)
      ? await act.adoptInstallation({ ...input, target, isFresh: true })
      : target
    return adopted === undefined ? { ...seen, start: 'superseded' } : { ...seen, target: adopted, start: 'begun' }
  }

  return {
    /**
     * Reads an Installation as `observeInstallation` does; an idle one that asks for a job has this one then.
     *
     * @throws as `observeInstallation` and `beginJob`.
     */
    async startInstallation({ asked, ...input }: StartInput): Promise<StartedInstallation> {
      const { by, subject, jobID } = input
      if (asked !== undefined) return await beginUnread(input, asked)
      const seen = await act.observeInstallation({ by, subject, known: {} })
      const { target } = seen
      const isAsked = target?.jobID !== jobID && target?.trigger !== undefined && isIdle(target)
      if (!isAsked) return { ...seen, start: undefined }
      const begun = await begin(input, target)
      return begun === undefined ? { ...seen, start: 'superseded' } : { ...seen, target: begun, start: 'begun' }
    },
  }
}
