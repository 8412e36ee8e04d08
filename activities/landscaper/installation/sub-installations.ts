// The Installation's hand on its sub-installations: made and kept as the blueprint has them, their job handed down, asked to end it, deleted.
// Source: spec/landscaper.md 2.3 "Init" 8, "CleanupOrphaned", "ObjectsCreated", 2.4, 2.5, 2.11.

import { type Installation, installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import { jobStatus } from '../../../workflows/landscaper/job-status.ts'
import type { By, Subject } from '../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../deps.ts'
import { finalFailure, retryableFailure } from '../../kube/errors.ts'
import { isOwnedBy } from '../../kube/owners.ts'
import { isReleased, targetView } from '../../kube/views.ts'
import { type Write, writeAll } from '../../kube/write.ts'
import { ask, handDown, isRunning, remove, type Request } from '../../run/children.ts'
import { IGNORE_SUCCESSORS, INTERRUPT, WITHOUT_UNINSTALL } from '../requests.ts'
import type { SubinstallationTemplate } from '../render/subinstallation-template.ts'
import { type InTheWay, successorsOf } from './siblings.ts'
import { newSubInstallation, subInstallationPatch, templateOf } from './sub-installation-objects.ts'
import { readInstallation } from './read-installation.ts'
import { type InstallationView, installationView } from './views.ts'

/** A sub-installation as the pass observed it. */
export type ObservedSub = Pick<InstallationView, 'uid' | 'name' | 'version' | 'jobID'>

export interface SubsInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  readonly subInstallations: readonly ObservedSub[]
}

/** What became of sub-installations. */
export interface SubsResult {
  /** As they are now. */
  readonly changed: readonly InstallationView[]
  /** uids */
  readonly gone: readonly string[]
}

export const subInstallationActivities = (deps: LandscaperDeps) => ({
  /** Hands the job down; one that has it stays as it is. @throws retryable failures, `SubInstallationBusy` among them. */
  async triggerSubInstallations({
    ignoresSuccessors,
    ...input
  }: SubsInput & { readonly ignoresSuccessors: boolean }): Promise<SubsResult> {
    const step = 'triggerSubInstallations'
    const fields = jobStatus.handedDown(deps.now().toISOString())
    const trigger = async (subs: readonly ObservedSub[]) =>
      await send(deps, { ...input, subInstallations: subs }, step, (sub) => handDown(sub, input.jobID, fields))
    if (!ignoresSuccessors) return await trigger(input.subInstallations)
    const asked = await send(deps, input, step, (sub) => ask(sub, IGNORE_SUCCESSORS, () => true))
    return joined(asked, await trigger(asked.changed))
  },

  /** Has them end the job that they run. */
  async interruptSubInstallations(input: SubsInput): Promise<SubsResult> {
    const isMeant = (current: Parameters<typeof isRunning>[0]) => isRunning(current, input.jobID)
    return await send(deps, input, 'interruptSubInstallations', (sub) => ask(sub, INTERRUPT, isMeant))
  },

  /** Deletes them; the finalizer of each holds it until its own job has taken away what is its. */
  async deleteSubInstallations({
    withoutUninstall,
    ...input
  }: SubsInput & { readonly withoutUninstall: boolean }): Promise<SubsResult> {
    if (!withoutUninstall) return await send(deps, input, 'deleteSubInstallations', remove)
    return await askAndRemove(deps, input, 'deleteSubInstallations', WITHOUT_UNINSTALL)
  },

  /** The siblings that import what this Installation exports; their end wakes the job. */
  async lookForSuccessors(input: {
    readonly by: By
    readonly subject: Subject
    readonly jobID: string
    readonly generation: number
  }): Promise<InTheWay> {
    return await successorsOf(deps, input, await readInstallation(deps, input))
  },
})

export interface SubsToApply {
  readonly parent: Installation
  readonly templates: readonly SubinstallationTemplate[]
  readonly existing: readonly Installation[]
}

/**
 * Makes the sub-installations of the templates: creates missing ones, updates those that differ, deletes those of no template.
 * Idempotent: names are deterministic per job, and a repeated create finds its own object.
 *
 * @returns all of them, those under deletion too.
 * @throws `NameTaken` (final), retryable failures.
 */
export async function applySubInstallations(
  deps: LandscaperDeps,
  input: Omit<SubsInput, 'subInstallations'>,
  { parent, templates, existing }: SubsToApply,
): Promise<readonly InstallationView[]> {
  const living = existing.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const byTemplate = new Map(living.map((one) => [templateOf(one), one]))
  const writes = templates.flatMap((template) => {
    const found = byTemplate.get(template.name)
    return found === undefined ? [creation(parent, template, input.jobID)] : updates(parent, template, found)
  })
  const written = await sent(deps, input, 'applyChildren', writes)
  const wanted = new Set(templates.map(({ name }) => name))
  const orphans = living.filter((one) => byTemplate.get(templateOf(one)) !== one || !wanted.has(templateOf(one) ?? ''))
  const removed = await askAndRemove(
    deps,
    { ...input, subInstallations: orphans.map(installationView) },
    'applyChildren',
    IGNORE_SUCCESSORS,
  )
  const gone = new Set([...written.gone, ...removed.gone])
  const now = new Map(existing.map((one) => [one.metadata.uid, installationView(one)]))
  for (const one of [...written.changed, ...removed.changed]) now.set(one.uid, one)
  return [...now.values()].filter(({ uid }) => !gone.has(uid))
}

type SubWrite = Write<typeof installationKind>

function creation(parent: Installation, template: SubinstallationTemplate, jobID: string): SubWrite {
  const body = newSubInstallation(parent, template, jobID)
  const { name, namespace = '' } = body.metadata
  const isOurs: Extract<SubWrite, { verb: 'create' }>['isOurs'] = (found) =>
    isOwnedBy(found, installationKind, parent.metadata)
  return { verb: 'create', watched: installationKind, namespace, name, body, isOurs }
}

function updates(parent: Installation, template: SubinstallationTemplate, existing: Installation): SubWrite[] {
  const patch = subInstallationPatch(parent, template, existing)
  if (patch === undefined) return []
  const { namespace, name, resourceVersion: version } = existing.metadata
  // Another job of it means that ours is over, and its spec is old.
  const isSame = (current: Installation) =>
    current.metadata.uid === existing.metadata.uid && targetView(current).jobID === targetView(existing).jobID
  const reapply = (current: Installation) =>
    isSame(current) ? (subInstallationPatch(parent, template, current) ?? 'done') : 'superseded'
  return [{ verb: 'patch', watched: installationKind, namespace, name, version, patch, reapply }]
}

// The request first: who is deleted looks for it.
async function askAndRemove(
  deps: LandscaperDeps,
  input: SubsInput,
  step: string,
  request: Request,
): Promise<SubsResult> {
  const asked = await send(deps, input, step, (sub) => ask(sub, request, () => true))
  const left = asked.changed.filter(({ deleting }) => !deleting)
  const removed = await send(deps, { ...input, subInstallations: left }, step, remove)
  return joined(asked, removed)
}

function joined(first: SubsResult, then: SubsResult): SubsResult {
  const gone = [...first.gone, ...then.gone]
  const now = new Map([...first.changed, ...then.changed].map((one) => [one.uid, one]))
  return { changed: [...now.values()].filter(({ uid }) => !gone.includes(uid)), gone }
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
  const { changed, gone } = await sent(deps, input, step, children.map(writeOf))
  const names = new Map(children.map(({ name, uid }) => [name, uid]))
  return { changed, gone: gone.map((name) => names.get(name) ?? name) }
}

/** @returns in `gone` names. @throws the first failure, once all were tried. */
async function sent(
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
    const { name = '', verb } = writes[index] ?? {}
    if (answer.result === 'failed') throw answer.error
    if (answer.result === 'superseded') throw superseded(subject, name, verb)
    if (answer.result === 'gone' || isReleased(answer.object)) gone.push(name)
    else changed.push(installationView(answer.object))
  }
  return { changed, gone }
}

function superseded({ namespace }: Subject, name: string, verb: SubWrite['verb'] | undefined): Error {
  const what = `installation ${namespace}/${name}`
  return verb === 'create'
    ? finalFailure('NameTaken', `${what} exists and belongs to somebody else; expected none`)
    : retryableFailure('SubInstallationBusy', `${what} runs another job, or is not the one that was observed`)
}
