// The end of a root's job asks for jobs of those that import from it. Source: spec/landscaper.md 2.2 trigger 5, 2.3 "Final phases".
//
//   D1. The request is the annotation: one that runs keeps it for its next job. One that has another operation on it is left alone, and so is one
//       under deletion, whose deletion it would begin anew.
//   D2. What one of them is refused holds up neither the others nor the end of the job: it is told by an Event.

import { type Installation, installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import { OPERATION_ANNOTATION } from '../../../workflows/landscaper/contract.ts'
import { annotation, type By, type Subject, textAt } from '../../../workflows/kit/index.ts'
import { isRefusal } from '../../kube/errors.ts'
import { recordWarning } from '../../kube/events.ts'
import { readSubject } from '../../kube/read-family.ts'
import { writeAll } from '../../kube/write.ts'
import { ask } from '../../run/children.ts'
import type { LandscaperDeps } from '../deps.ts'
import { RECONCILE } from '../requests.ts'
import { dependentsOf } from './root-siblings.ts'
import { isLeaving } from './sibling-waits.ts'

export interface DependentsInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
}

export const dependentActivities = (deps: LandscaperDeps) => ({
  /**
   * Has the roots reconciled that import what this one exports. Idempotent: one that is asked already stays as it is.
   *
   * @throws retryable failures of the API server and the journal.
   */
  async triggerDependents(input: DependentsInput): Promise<void> {
    const installation = await readSubject(deps, installationKind, input.subject, input.by)
    if (installation !== undefined) await askDependents(deps, input, installation)
  },
})

/** The same where the Installation is at hand. */
export async function askDependents(
  deps: LandscaperDeps,
  { by, subject, jobID }: DependentsInput,
  installation: Installation,
): Promise<void> {
  const dependents = (await dependentsOf(deps, installation)).filter(({ projection }) => mayBeAsked(projection))
  if (dependents.length === 0) return
  const { namespace } = subject
  const writes = dependents.map(({ uid, name, version }) =>
    ask({ watched: installationKind, namespace, name, uid, version: String(version) }, RECONCILE, mayBeAsked),
  )
  const answers = await writeAll(deps, { ...by, step: 'triggerDependents', fieldManager: 'pawl-installation' }, writes)
  for (const [index, answer] of answers.entries()) {
    if (answer.result !== 'failed') continue
    const { reason, message: said } = answer.error
    if (!isRefusal(answer.error)) throw answer.error
    const name = dependents[index]?.name ?? ''
    const message = `installation ${namespace}/${name} imports from here, and could not be asked for a job: ${said}`
    const { apiVersion } = installationKind
    await recordWarning(deps, { ...subject, apiVersion }, jobID, { operation: 'TriggerDependents', reason, message })
  }
}

/** D1. One that the journal says is asked already is asked again: it may have taken the request up meanwhile. */
function mayBeAsked(one: Installation | object): boolean {
  const operation = textAt(one, annotation(OPERATION_ANNOTATION)) ?? RECONCILE.value
  return !isLeaving(one) && operation === RECONCILE.value
}
