// Requests jobs of the roots that import from a root whose job ends. Source: spec/landscaper.md 2.2 trigger 5, 2.3 "Final phases".
//
//   D1. The request is the annotation; a running job keeps it for the next one. Roots with another operation annotation or under deletion are not
//       changed.
//   D2. A refused request delays neither the other requests nor the end of the job: it is reported by an Event.
//   D3. An interrupt annotation on an idle root was meant for an ended job, and is replaced.

import {
  hasLeftDependents,
  type Installation,
  installationKind,
} from '../../../workflows/landscaper/installation/kind.ts'
import { OPERATION_ANNOTATION } from '../../../workflows/landscaper/contract.ts'
import { annotation, type By, isIdle, jobIDsOf, type Subject, textAt } from '../../../workflows/kit/index.ts'
import { isRefusal } from '../../kube/errors.ts'
import { recordWarning } from '../../kube/events.ts'
import { inParallel } from '../../kube/in-parallel.ts'
import { readObject, readSubject } from '../../kube/read-family.ts'
import { writeAll } from '../../kube/write.ts'
import { addRequest } from '../../run/children.ts'
import { PARALLEL_READS } from '../data-objects.ts'
import type { LandscaperDeps } from '../deps.ts'
import { INTERRUPT, RECONCILE } from '../requests.ts'
import { parentOf } from './parent.ts'
import { dependentsOf } from './root-siblings.ts'
import { isDeleting } from './sibling-waits.ts'
import { type InstallationView, installationView } from './views.ts'

const FIELD_MANAGER = 'pawl-installation'

export interface DependentsInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
}

export const dependentActivities = (deps: LandscaperDeps) => ({
  /**
   * Requests a job of the roots that import from this one. Idempotent: an existing request stays unchanged.
   *
   * @throws retryable failures of the API server and the journal.
   */
  async triggerDependents(input: DependentsInput): Promise<void> {
    const installation = await readSubject(deps, installationKind, input.subject, input.by)
    if (installation !== undefined) await requestDependentJobs(deps, input, installation)
  },

  /**
   * Requests a job of the roots in `status.dependentsToTrigger`, and clears this field. Idempotent. For a sub-installation the field is only cleared,
   * because the parent starts the jobs of its siblings.
   *
   * @returns the current Installation; undefined when it does not exist any more or was replaced.
   * @throws retryable failures of the API server and the journal.
   */
  async askLeftDependents(input: DependentsInput): Promise<InstallationView | undefined> {
    const installation = await readSubject(deps, installationKind, input.subject, input.by)
    return installation === undefined ? undefined : await triggerLeftDependents(deps, input, installation)
  },
})

// One attempt for each concurrent change.
const MAX_ATTEMPTS = 5

async function triggerLeftDependents(
  deps: LandscaperDeps,
  input: DependentsInput,
  installation: Installation,
  looks = 1,
): Promise<InstallationView | undefined> {
  const { by, subject } = input
  const left = leftDependents(installation)
  if (parentOf(installation) === undefined)
    await requestJobs(deps, input, 'should start now', await readRoots(deps, subject, left))
  const patch = { status: { dependentsToTrigger: null } }
  const [answer] = await writeAll(deps, { ...by, step: 'askLeftDependents', fieldManager: FIELD_MANAGER }, [
    {
      verb: 'patchStatus',
      watched: installationKind,
      namespace: subject.namespace,
      name: subject.name,
      version: installation.metadata.resourceVersion,
      patch,
      reapply(current) {
        if (current.metadata.uid !== subject.uid) return 'superseded'
        if (!hasLeftDependents(current)) return 'done'
        return leftDependents(current).every((name) => left.includes(name)) ? patch : 'superseded'
      },
    },
  ])
  if (answer?.result === 'failed') throw answer.error
  if (answer?.result === 'ok') return installationView(answer.object, await deps.landscaper.trust?.())
  const isMore = answer?.result === 'superseded' && answer.object.metadata.uid === subject.uid && looks < MAX_ATTEMPTS
  return isMore ? await triggerLeftDependents(deps, input, answer.object, looks + 1) : undefined
}

// The same limit as for the order of roots; invalid object names are ignored.
const MAX_LEFT = 1000
const NAME = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/

function leftDependents({ status }: Installation): readonly string[] {
  const names = (status?.dependentsToTrigger ?? []).map(({ name = '' }) => name)
  return [...new Set(names.filter((name) => NAME.test(name)))].slice(0, MAX_LEFT)
}

async function readRoots(
  deps: LandscaperDeps,
  { uid, namespace }: Subject,
  names: readonly string[],
): Promise<readonly DependentRoot[]> {
  const found = await inParallel(names, PARALLEL_READS, async (name): Promise<DependentRoot[]> => {
    const one = await readObject(deps, installationKind, namespace, name)
    if (one === undefined || one.metadata.uid === uid || parentOf(one) !== undefined || !mayRequestJob(one)) return []
    return [{ uid: one.metadata.uid, name, version: one.metadata.resourceVersion }]
  })
  return found.flat()
}

/** Requests jobs of the dependents of an Installation that was read. */
export async function requestDependentJobs(
  deps: LandscaperDeps,
  input: DependentsInput,
  installation: Installation,
): Promise<void> {
  const dependents = (await dependentsOf(deps, installation)).filter(({ projection }) => mayRequestJob(projection))
  const asked = dependents.map(({ uid, name, version }) => ({ uid, name, version: String(version) }))
  await requestJobs(deps, input, 'imports from this installation', asked)
}

interface DependentRoot {
  readonly uid: string
  readonly name: string
  readonly version: string
}

/** @param why the reason in the Event. */
async function requestJobs(
  deps: LandscaperDeps,
  { by, subject, jobID }: DependentsInput,
  why: string,
  dependents: readonly DependentRoot[],
): Promise<void> {
  if (dependents.length === 0) return
  const { namespace } = subject
  const writes = dependents.map((one) =>
    addRequest({ ...one, watched: installationKind, namespace }, RECONCILE, mayRequestJob),
  )
  const answers = await writeAll(deps, { ...by, step: 'triggerDependents', fieldManager: FIELD_MANAGER }, writes)
  for (const [index, answer] of answers.entries()) {
    if (answer.result !== 'failed') continue
    const { reason, message: said } = answer.error
    if (!isRefusal(answer.error)) throw answer.error
    const name = dependents[index]?.name ?? ''
    const message = `Installation "${namespace}/${name}" ${why}, but Pawl could not start its job: ${said}`
    const { apiVersion } = installationKind
    await recordWarning(deps, { ...subject, apiVersion }, jobID, { operation: 'TriggerDependents', reason, message })
  }
}

/** Implements D1 and D3. A root that has the request according to the journal gets it again: its job may have started meanwhile. */
function mayRequestJob(one: Installation | object): boolean {
  const operation = textAt(one, annotation(OPERATION_ANNOTATION)) ?? RECONCILE.value
  const isLeft = operation === INTERRUPT.value && isIdle(jobIDsOf(one))
  return !isDeleting(one) && (operation === RECONCILE.value || isLeft)
}
