// Creates and updates the sub-installations of the rendered templates, and deletes those without a template. Source: spec/landscaper.md 2.3 "Init" 8,
// 2.5.

import { ENCOMPASSED_BY_LABEL } from '../../../workflows/landscaper/contract.ts'
import { type Installation, installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import type { LandscaperDeps } from '../deps.ts'
import { finalFailure } from '../../kube/errors.ts'
import { isOwnedBy, ownerReference } from '../../kube/owners.ts'
import { listObjects } from '../../kube/read-family.ts'
import { targetView } from '../../kube/object-views.ts'
import { writeAll, type WriteAnswer } from '../../kube/write.ts'
import { IGNORE_SUCCESSORS } from '../requests.ts'
import type { SubinstallationTemplate } from '../render/subinstallation-templates.ts'
import { newSubInstallation, subInstallationPatch, templateOf } from './sub-installation-objects.ts'
import { requestAndDelete, writeSubs, type SubsInput, type SubsResult, type SubWrite } from './sub-installations.ts'
import { type InstallationView, subInstallationView } from './views.ts'

export interface SubsToApply {
  readonly parent: Installation
  readonly templates: readonly SubinstallationTemplate[]
  readonly existing: readonly Installation[]
}

/** The object that was created for a template. */
export interface TemplateObject {
  readonly template: string
  readonly name: string
}

export interface AppliedSubs {
  /** All sub-installations, including those that are being deleted. */
  readonly subInstallations: readonly InstallationView[]
  /** One for each template, even if a user has changed or deleted the object since. */
  readonly wantedSubs: readonly TemplateObject[]
}

type Input = Omit<SubsInput, 'subInstallations'>

const STEP = 'applyChildren'
// Two names in a namespace collide in one of a million cases.
const ATTEMPTS = 3

/**
 * Creates missing sub-installations, updates those that differ, deletes those without a template. Idempotent: names are deterministic per job, and a
 * repeated create finds its own object.
 *
 * @throws `NameTaken` (final), retryable failures.
 */
export async function applySubInstallations(
  deps: LandscaperDeps,
  input: Input,
  { parent, templates, existing }: SubsToApply,
): Promise<AppliedSubs> {
  const own = existing.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const adopted = await adoptOrphans(deps, input, { parent, templates, existing: own })
  const living = [...own, ...adopted]
  const byTemplate = new Map(living.map((one) => [templateOf(one), one]))
  const made = await createSubs(deps, input, {
    parent,
    templates: templates.filter(({ name }) => !byTemplate.has(name)),
  })
  const remaining = templates.flatMap((template) => {
    const found = byTemplate.get(template.name)
    return found === undefined ? [] : [{ template, found }]
  })
  const updates = remaining.flatMap(({ template, found }) => update(parent, template, found))
  const updated = await writeSubs(deps, input, STEP, updates)
  const wanted = new Set(remaining.map(({ found }) => found))
  const removed = await requestAndDelete(
    deps,
    { ...input, subInstallations: living.filter((one) => !wanted.has(one)).map(subInstallationView) },
    STEP,
    IGNORE_SUCCESSORS,
  )
  return {
    subInstallations: mergeViews([...existing, ...adopted], made.changed, updated, removed),
    wantedSubs: [
      ...made.wantedSubs,
      ...remaining.map(({ template, found }) => ({ template: template.name, name: found.metadata.name })),
    ],
  }
}

/**
 * Adopts the sub-installations that `kubectl delete --cascade=orphan` of an earlier Installation with this name has left: they have the parent's
 * label, the template's annotation, and no owner reference.
 *
 * @returns the adopted objects.
 */
async function adoptOrphans(
  deps: LandscaperDeps,
  input: Input,
  { parent, templates, existing }: SubsToApply,
): Promise<readonly Installation[]> {
  const { name, namespace } = parent.metadata
  const missing = new Set(templates.map((one) => one.name))
  for (const one of existing) missing.delete(templateOf(one) ?? '')
  if (missing.size === 0) return []
  const labelSelector = `${ENCOMPASSED_BY_LABEL}=${name}`
  const labelled = await listObjects(deps, installationKind, namespace, { labelSelector })
  const orphans = labelled.filter((one) => isOrphan(one) && missing.delete(templateOf(one) ?? ''))
  const answers = await writeAll(
    deps,
    { ...input.by, step: STEP, fieldManager: 'pawl-installation' },
    orphans.map((one) => adoption(parent, one)),
  )
  throwFailed(answers)
  return answers.flatMap((answer) => (answer.result === 'ok' ? [answer.object] : []))
}

function isOrphan({ metadata: { deletionTimestamp, ownerReferences = [] } }: Installation): boolean {
  return deletionTimestamp === undefined && ownerReferences.length === 0
}

function adoption(parent: Installation, { metadata }: Installation): SubWrite {
  const { namespace, name, uid, resourceVersion: version } = metadata
  const patch = { metadata: { ownerReferences: [ownerReference(installationKind, parent.metadata)] } }
  const reapply = (current: Installation) => {
    if (isOwnedBy(current, installationKind, parent.metadata)) return 'done'
    return current.metadata.uid === uid && isOrphan(current) ? patch : 'superseded'
  }
  return { verb: 'patch', watched: installationKind, namespace, name, version, patch, reapply }
}

/** @param updated has names in `gone`; `removed` has uids. */
function mergeViews(
  existing: readonly Installation[],
  made: readonly InstallationView[],
  updated: SubsResult,
  removed: SubsResult,
): readonly InstallationView[] {
  const now = new Map(existing.map((one) => [one.metadata.uid, subInstallationView(one)]))
  for (const one of [...made, ...updated.changed, ...removed.changed]) now.set(one.uid, one)
  return [...now.values()].filter(({ uid, name }) => !removed.gone.includes(uid) && !updated.gone.includes(name))
}

/** Creates sub-installations; if an object of another owner has the name, tries the next name. */
async function createSubs(
  deps: LandscaperDeps,
  input: Input,
  { parent, templates }: Omit<SubsToApply, 'existing'>,
): Promise<{ readonly changed: readonly InstallationView[]; readonly wantedSubs: readonly TemplateObject[] }> {
  const changed: InstallationView[] = []
  const wantedSubs: TemplateObject[] = []
  let left = templates
  for (let attempt = 0; left.length > 0; attempt++) {
    const writes = left.map((template) => creation(parent, template, { jobID: input.jobID, attempt }))
    const answers = await writeAll(deps, { ...input.by, step: STEP, fieldManager: 'pawl-installation' }, writes)
    throwFailed(answers)
    const named = left.map((template, index) => ({ template, name: writes[index]?.name ?? '', answer: answers[index] }))
    const taken = named.filter(({ answer }) => answer?.result === 'superseded')
    if (taken.length > 0 && attempt + 1 === ATTEMPTS) throw nameTaken(parent, taken[0]?.name ?? '')
    for (const { template, name, answer } of named) {
      if (answer?.result === 'superseded') continue
      wantedSubs.push({ template: template.name, name })
      if (answer?.result === 'ok') changed.push(subInstallationView(answer.object))
    }
    left = taken.map(({ template }) => template)
  }
  return { changed, wantedSubs }
}

function throwFailed(answers: readonly WriteAnswer<typeof installationKind>[]): void {
  for (const answer of answers) if (answer.result === 'failed') throw answer.error
}

function nameTaken({ metadata: { namespace } }: Installation, name: string): Error {
  const what = `Installation "${namespace}/${name}"`
  return finalFailure(
    'NameTaken',
    `${what} exists and has another owner; rename the sub-installation or delete that object`,
  )
}

function creation(
  parent: Installation,
  template: SubinstallationTemplate,
  naming: { readonly jobID: string; readonly attempt: number },
): SubWrite {
  const body = newSubInstallation(parent, template, naming)
  const { name, namespace = '' } = body.metadata
  const isOurs: Extract<SubWrite, { verb: 'create' }>['isOurs'] = (found) =>
    isOwnedBy(found, installationKind, parent.metadata) && templateOf(found) === template.name
  return { verb: 'create', watched: installationKind, namespace, name, body, isOurs }
}

function update(parent: Installation, template: SubinstallationTemplate, existing: Installation): SubWrite[] {
  const patch = subInstallationPatch(parent, template, existing)
  if (patch === undefined) return []
  const { namespace, name, resourceVersion: version } = existing.metadata
  // If it has another job, our job has ended and the desired spec is outdated.
  const isSame = (current: Installation) =>
    current.metadata.uid === existing.metadata.uid && targetView(current).jobID === targetView(existing).jobID
  const reapply = (current: Installation) =>
    isSame(current) ? (subInstallationPatch(parent, template, current) ?? 'done') : 'superseded'
  return [{ verb: 'patch', watched: installationKind, namespace, name, version, patch, reapply }]
}
