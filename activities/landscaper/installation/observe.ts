// What a pass of an Installation sees: itself and its Execution, which has its name.

import { executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import { installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import type { By, Subject } from '../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../deps.ts'
import { type Children, readFamily } from '../../kube/read-family.ts'
import { declaredChildren, observed } from '../../run/observe.ts'
import { type ChildExecution, childExecution, type InstallationView, installationView } from './views.ts'

export interface InstallationObservation {
  /** Undefined: the Installation is gone. */
  readonly target: InstallationView | undefined
  readonly execution: ChildExecution | undefined
}

export const observeActivities = (deps: LandscaperDeps) => ({
  /** Reads an Installation and its Execution. @throws retryable failures of the API server and the journal. */
  async observeInstallation({ by, subject }: { by: By; subject: Subject }): Promise<InstallationObservation> {
    const reading = readFamily(deps, installationKind, subject, executionsOf(deps, { by, subject }))
    const { subject: installation, children } = await observed(deps, by, reading)
    return {
      target: installation === undefined ? undefined : installationView(installation),
      execution: childExecution(children[0], subject),
    }
  },
})

/** How an Installation's Execution is found. */
export function executionsOf(
  deps: LandscaperDeps,
  { by, subject }: { readonly by: By; readonly subject: Subject },
): Children<typeof executionKind> {
  return declaredChildren(deps, { by, subject, state: 'execution', watched: executionKind })
}
