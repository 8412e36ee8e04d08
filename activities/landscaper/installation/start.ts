// Starts an Installation's job: observes it and makes the job's first two writes, status and then metadata. A crash between the two requests must
// lead to exactly one job: the first write claims the job, the second is repeated until it succeeds. Source: docs/architecture.md "A root's new job".

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
  /** From the run's input; the job begins on this state without a read. */
  readonly asked?: NewJobTarget | undefined
}

export interface StartedInstallation extends InstallationObservation {
  /**
   * `begun`: both writes succeeded, and `target` is their result. `superseded`: the object or another run was newer. Undefined: the job had already
   * begun, or no job is requested.
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

  /** The result of the first write contains the whole object, so the observation need not read it. */
  async function beginUnread(input: StartInput, asked: NewJobTarget): Promise<StartedInstallation> {
    const { by, subject, jobID } = input
    const begun = await act.beginJob({ ...input, target: asked })
    const seen = await act.observeInstallation({ by, subject, known: {} })
    if (begun === undefined) return { ...seen, start: 'superseded' }
    const { target } = seen
    // The first step handles a job that an earlier attempt began, or that others have changed.
    if (!begun.wrote || target?.jobID !== jobID) return { ...seen, start: undefined }
    const adopted = isToBeAdopted(target, true)
      ? await act.adoptInstallation({ ...input, target, isFresh: true })
      : target
    return adopted === undefined ? { ...seen, start: 'superseded' } : { ...seen, target: adopted, start: 'begun' }
  }

  return {
    /**
     * Observes an Installation like `observeInstallation`, and begins this job if the Installation is idle and requests one.
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
