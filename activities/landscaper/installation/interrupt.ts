// The interrupt of an Installation, taken off once all items have ended. Source: spec/landscaper.md 2.11.
//
//   N1. It is taken off last, so that a crash in between repeats it. What has ended ends no second time.

import { installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import type { By, Subject } from '../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../deps.ts'
import type { KubeObject } from '../../kube/client.ts'
import { isRunning, removeRequest } from '../../run/children.ts'
import { INTERRUPT } from '../requests.ts'
import { writeAll } from '../../kube/write.ts'
import { type InstallationView, installationView } from './views.ts'

export interface InterruptInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  /** The version of the Installation that the pass observed. */
  readonly version: string
}

export const interruptActivities = (deps: LandscaperDeps) => ({
  /**
   * Takes the interrupt off the Installation. Idempotent.
   *
   * @returns the Installation as it is now; undefined when it is gone or has another job.
   * @throws retryable failures of the API server.
   */
  async interruptInstallation({ by, subject, jobID, version }: InterruptInput): Promise<InstallationView | undefined> {
    const isMeant = (current: KubeObject) => isRunning(current, jobID)
    const write = removeRequest({ ...subject, watched: installationKind, version }, INTERRUPT, isMeant)
    const writer = { ...by, step: 'interruptInstallation', fieldManager: 'pawl-installation' }
    const [answer] = await writeAll(deps, writer, [write])
    if (answer?.result === 'failed') throw answer.error
    return answer?.result === 'ok' ? installationView(answer.object, await deps.landscaper.trust?.()) : undefined
  },
})
