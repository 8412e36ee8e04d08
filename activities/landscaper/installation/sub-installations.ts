// Actions on existing sub-installations: assigns jobs, interrupts, pauses and deletes them. apply-sub-installations.ts creates them. Source:
// spec/landscaper.md 2.3 "CleanupOrphaned", "ObjectsCreated", 2.4, 2.11.

import { installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import { jobStatus } from '../../../workflows/landscaper/job-status.ts'
import { PAUSED_ANNOTATION } from '../../../workflows/landscaper/contract.ts'
import { handedDownValue, pauseReason } from '../../../workflows/landscaper/pause.ts'
import type { By, Subject } from '../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../deps.ts'
import type { KubeObject } from '../../kube/client.ts'
import { retryableFailure } from '../../kube/errors.ts'
import { isDeletedWithoutFinalizers } from '../../kube/object-views.ts'
import { type Write, writeAll } from '../../kube/write.ts'
import {
  addRequest,
  assignJob,
  isRunning,
  deleteChild,
  type AnnotationRequest,
  removeRequest,
} from '../../run/children.ts'
import { IGNORE_SUCCESSORS, INTERRUPT, WITHOUT_UNINSTALL } from '../requests.ts'
import type { BlockingSiblings } from './sibling-waits.ts'
import { successorsOf } from './siblings.ts'
import { readInstallation } from './read-installation.ts'
import { type InstallationView, subInstallationView } from './views.ts'

/** A sub-installation as the pass observed it. */
export type ObservedSub = Pick<InstallationView, 'uid' | 'name' | 'version' | 'jobID' | 'interruptRequested' | 'heldBy'>

export interface SubsInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  readonly subInstallations: readonly ObservedSub[]
}

/** The results of writes to sub-installations. */
export interface SubsResult {
  /** The current views. */
  readonly changed: readonly InstallationView[]
  /** The uids of sub-installations that do not exist any more. */
  readonly gone: readonly string[]
}

export const subInstallationActivities = (deps: LandscaperDeps) => ({
  /**
   * Assigns the job to sub-installations that do not have it. Removes an interrupt first, which was meant for an earlier job.
   *
   * @throws retryable failures, including `SubInstallationBusy`.
   */
  async triggerSubInstallations({
    ignoresSuccessors,
    ...input
  }: SubsInput & { readonly ignoresSuccessors: boolean }): Promise<SubsResult> {
    const step = 'triggerSubInstallations'
    const fields = jobStatus.onHandDown(deps.now().toISOString())
    const write = async (subInstallations: readonly ObservedSub[], writeOf: (sub: Child) => SubWrite) =>
      await send(deps, { ...input, subInstallations }, step, writeOf)
    const subs = input.subInstallations
    const interrupted = subs.filter(({ interruptRequested }) => interruptRequested)
    const forgotten = await write(interrupted, (sub) => removeRequest(sub, INTERRUPT, () => true))
    const toAsk = ignoresSuccessors ? withChanges(subs, forgotten) : []
    const prepared = mergeResults(
      forgotten,
      await write(toAsk, (sub) => addRequest(sub, IGNORE_SUCCESSORS, () => true)),
    )
    const trigger = (sub: Child) => assignJob(sub, input.jobID, fields)
    return mergeResults(prepared, await write(withChanges(subs, prepared), trigger))
  },

  /** Requests that the sub-installations end the job that they run. */
  async interruptSubInstallations(input: SubsInput): Promise<SubsResult> {
    const isMeant = (current: Parameters<typeof isRunning>[0]) => isRunning(current, input.jobID)
    return await send(deps, input, 'interruptSubInstallations', (sub) => addRequest(sub, INTERRUPT, isMeant))
  },

  /**
   * Pauses or resumes the sub-installations that run the job.
   *
   * @param pausedBy the user who paused the parent, for the message.
   * @param isPaused false: removes pauses that a parent's job has set; pauses set by others stay.
   * @throws retryable failures.
   */
  async holdSubInstallations({
    isPaused,
    pausedBy,
    ...input
  }: SubsInput & { readonly isPaused: boolean; readonly pausedBy?: string }): Promise<SubsResult> {
    const { jobID } = input
    const held = { annotation: PAUSED_ANNOTATION, value: handedDownValue(jobID, pausedBy) }
    const isFree = (current: KubeObject) => isRunning(current, jobID) && pauseReason(current) === undefined
    return await send(deps, input, 'holdSubInstallations', (sub) =>
      isPaused
        ? addRequest(sub, held, isFree)
        : removeRequest(sub, { ...held, value: sub.heldBy ?? held.value }, () => true),
    )
  },

  /** Deletes sub-installations; the finalizer of each stays until its own job has removed its objects. */
  async deleteSubInstallations({
    withoutUninstall,
    ...input
  }: SubsInput & { readonly withoutUninstall: boolean }): Promise<SubsResult> {
    if (!withoutUninstall) return await send(deps, input, 'deleteSubInstallations', deleteChild)
    return await requestAndDelete(deps, input, 'deleteSubInstallations', WITHOUT_UNINSTALL)
  },

  /** The siblings that import from this Installation; their end wakes the job. */
  async lookForSuccessors(input: {
    readonly by: By
    readonly subject: Subject
    readonly jobID: string
    readonly generation: number
  }): Promise<BlockingSiblings> {
    return await successorsOf(deps, input, await readInstallation(deps, input))
  },
})

export type SubWrite = Write<typeof installationKind>

/** Adds the request first, because the deletion job reads it. */
export async function requestAndDelete(
  deps: LandscaperDeps,
  input: SubsInput,
  step: string,
  request: AnnotationRequest,
): Promise<SubsResult> {
  const asked = await send(deps, input, step, (sub) => addRequest(sub, request, () => true))
  const left = asked.changed.filter(({ deleting }) => !deleting)
  const removed = await send(deps, { ...input, subInstallations: left }, step, deleteChild)
  return mergeResults(asked, removed)
}

function mergeResults(first: SubsResult, then: SubsResult): SubsResult {
  const gone = [...first.gone, ...then.gone]
  const now = new Map([...first.changed, ...then.changed].map((one) => [one.uid, one]))
  return { changed: [...now.values()].filter(({ uid }) => !gone.includes(uid)), gone }
}

function withChanges(subs: readonly ObservedSub[], { changed, gone }: SubsResult): readonly ObservedSub[] {
  const now = new Map<string, ObservedSub>(changed.map((one) => [one.uid, one]))
  return subs.filter(({ uid }) => !gone.includes(uid)).map((one) => now.get(one.uid) ?? one)
}

type Child = ObservedSub & { readonly watched: typeof installationKind; readonly namespace: string }

async function send(
  deps: LandscaperDeps,
  input: SubsInput,
  step: string,
  writeOf: (sub: Child) => SubWrite,
): Promise<SubsResult> {
  const { namespace } = input.subject
  const children = input.subInstallations.map((sub): Child => ({ ...sub, watched: installationKind, namespace }))
  const { changed, gone } = await writeSubs(deps, input, step, children.map(writeOf))
  const names = new Map(children.map(({ name, uid }) => [name, uid]))
  return { changed, gone: gone.map((name) => names.get(name) ?? name) }
}

/** @returns names in `gone`. @throws the first failure, after all writes were tried. */
export async function writeSubs(
  deps: LandscaperDeps,
  { by, subject }: Pick<SubsInput, 'by' | 'subject'>,
  step: string,
  writes: readonly SubWrite[],
): Promise<SubsResult> {
  if (writes.length === 0) return { changed: [], gone: [] }
  const answers = await writeAll(deps, { ...by, step, fieldManager: 'pawl-installation' }, writes)
  const changed: InstallationView[] = []
  const gone: string[] = []
  for (const [index, answer] of answers.entries()) {
    const { name = '' } = writes[index] ?? {}
    if (answer.result === 'failed') throw answer.error
    if (answer.result === 'superseded') throw busy(subject, name)
    if (answer.result === 'gone' || isDeletedWithoutFinalizers(answer.object)) gone.push(name)
    else changed.push(subInstallationView(answer.object))
  }
  return { changed, gone }
}

function busy({ namespace }: Subject, name: string): Error {
  return retryableFailure(
    'SubInstallationBusy',
    `Installation "${namespace}/${name}" runs another job, or was replaced`,
  )
}
