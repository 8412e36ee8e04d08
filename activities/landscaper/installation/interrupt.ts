// Removes the interrupt annotation of an Installation after all items have ended. Source: spec/landscaper.md 2.11.
//
//   N1. It is removed last, so a crash repeats the interrupt; ended items are not changed again.

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
   * Removes the interrupt annotation. Idempotent.
   *
   * @returns the current Installation; undefined when it does not exist any more or has another job.
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
