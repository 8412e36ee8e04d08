// What a pass of an Installation sees: itself and its Execution, which has its name.

import { executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import { installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import type { By, Subject } from '../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../deps.ts'
import { type Children, readFamily, recordObservation } from '../../kube/read-family.ts'
import { type ChildExecution, childExecution, type InstallationView, installationView } from './views.ts'

export interface InstallationObservation {
  /** Undefined: the Installation is gone. */
  readonly target: InstallationView | undefined
  readonly execution: ChildExecution | undefined
}

export const observeActivities = (deps: LandscaperDeps) => ({
  /** Reads an Installation and its Execution. @throws retryable failures of the API server and the journal. */
  async observeInstallation({ by, subject }: { by: By; subject: Subject }): Promise<InstallationObservation> {
    const [{ subject: installation, children }] = await Promise.all([
      readFamily(deps, installationKind, subject, executionsOf(subject)),
      recordObservation(deps, by),
    ])
    const execution = children.find(({ metadata }) => metadata.name === subject.name)
    return {
      target: installation === undefined ? undefined : installationView(installation),
      execution: childExecution(execution, subject.uid),
    }
  },
})

/** The Execution of an Installation has its name. */
export function executionsOf({ name }: Pick<Subject, 'name'>): Children<typeof executionKind> {
  return { watched: executionKind, by: { name } }
}
