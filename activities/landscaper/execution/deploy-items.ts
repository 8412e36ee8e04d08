// The writes of an Execution to its deploy items: create, update, trigger, delete, release. Only this module reads, builds and writes their bodies.
//
//   D1. The activity checks the generation that the pass observed: another generation of the Execution fails with `Changed`.
//   D2. Every write is fenced by the item's version; after a conflict the single field is written again, never the whole object.

import { FINALIZER, SKIP_ANNOTATION } from '../../../workflows/landscaper/contract.ts'
import { type DeployItem, deployItemKind } from '../../../workflows/landscaper/deploy-item/kind.ts'
import { isTypeBuiltIn } from '../../../workflows/landscaper/deploy-item/handled-types.ts'
import { type DeployItemTemplate, type Execution, executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import type { By, Subject } from '../../../workflows/kit/index.ts'
import { jobStatus } from '../../../workflows/landscaper/job-status.ts'
import { dataOf } from '../tenant-call.ts'
import type { LandscaperDeps } from '../deps.ts'
import type { KubeObject } from '../../kube/client.ts'
import { finalFailure } from '../../kube/errors.ts'
import { assignJob, deleteChild, removeFinalizer } from '../../run/children.ts'
import { countProblem, itemProblems, ownerNameProblem, shownName } from '../item-rules.ts'
import { additivePatch, mergePatch, type Patch } from '../../kube/merge-patch.ts'
import { isOwnedBy } from '../../kube/owners.ts'
import { isChangedSince, type KnownVersions } from '../../kube/read-family.ts'
import { targetView } from '../../kube/object-views.ts'
import {
  decodeItems,
  deployItemName,
  desiredDeployItem,
  newDeployItem,
  readClusters,
  type Writing,
  writtenAt,
} from './items.ts'
import { type BatchResult, type ItemsInput, type ItemWrite, send } from './item-batch.ts'
import { readExecution } from './observe.ts'
import { deployItemView, itemNameOf } from '../deploy-item-view.ts'
import { shortenList } from '../../../workflows/kit/index.ts'

const MOST_PROBLEMS = 20

export interface ApplyInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  readonly generation: number
  /** The items as the run knows them, for the call's summary; the activity applies the items of the Execution. */
  readonly items?: readonly { readonly name: string }[]
  /** The items that an earlier call left (`BatchResult`); absent: all. */
  readonly only?: readonly string[]
  /** Known versions of the deploy items; unchanged items are not returned. */
  readonly known?: KnownVersions
}

export const deployItemActivities = (deps: LandscaperDeps) => ({
  /**
   * Writes the deploy items of the Execution's spec: creates missing ones, updates those that differ, deletes those that the spec no longer names.
   * Idempotent: names are deterministic per job, and a repeated create finds its own object.
   *
   * @throws `Changed` when the Execution has another generation than the pass observed; `NotFound` (final) when it is deleted.
   */
  async applyDeployItems(input: ApplyInput): Promise<BatchResult> {
    return await apply(deps, input)
  },

  /** Hands the job ID down to items, which triggers their deployers. Source: spec/landscaper.md 2.8. An item that has the job ID is unchanged. */
  async triggerDeployItems({ by, jobID, subject, items }: ItemsInput): Promise<BatchResult> {
    const now = deps.now().toISOString()
    const { conditions, ...times } = jobStatus.onHandDown(now)
    const fields = { jobIDGenerationTime: now, ...times }
    // Other programs' deployers would never remove the conditions.
    const fieldsOf = (type = '') => (isTypeBuiltIn(type) ? { ...fields, conditions } : fields)
    const writes = items.map((item) => assignJob(childOf(subject, item), jobID, fieldsOf(item.type)))
    return await send(deps, { by, step: 'triggerDeployItems' }, writes)
  },

  /** Deletes items (their finalizer keeps them until a deployer has uninstalled them). */
  async deleteDeployItems({ by, subject, items }: ItemsInput): Promise<BatchResult> {
    const writes = items.map((item) => deleteChild(childOf(subject, item)))
    return await send(deps, { by, step: 'deleteDeployItems' }, writes)
  },

  /**
   * Removes the finalizer of items without uninstalling them: the deployed objects stay. Source: spec/landscaper.md 2.4 "Deletion without uninstall".
   */
  async releaseDeployItems({ by, subject, items }: ItemsInput): Promise<BatchResult> {
    const writes = items.map((item) => removeFinalizer(childOf(subject, item), FINALIZER))
    return await send(deps, { by, step: 'releaseDeployItems' }, writes)
  },
})

async function apply(
  deps: LandscaperDeps,
  { by, subject, jobID, generation, only, known = {} }: ApplyInput,
): Promise<BatchResult> {
  const { subject: execution, children: existing } = await readExecution(deps, { by, subject }, 0)
  const name = `execution "${subject.namespace}/${subject.name}"`
  if (execution === undefined) throw finalFailure('NotFound', `${name} is gone`)
  if (execution.metadata.generation !== generation) {
    const found = execution.metadata.generation
    throw finalFailure('Changed', `${name} has generation ${found}; the pass observed ${generation}`)
  }
  const decoded = await decodeItems(execution, dataOf(deps, subject))
  if ('problem' in decoded) throw finalFailure('ERR_CONFIGURATION_PROBLEM', decoded.problem)
  const clusterOf = await readClusters(deps, subject, decoded.items)
  const writes = plannedWrites(execution, decoded.items, existing, { jobID, now: deps.now(), clusterOf })
  const asked = only && new Set(only)
  const due = asked === undefined ? writes : writes.filter(({ name }) => asked.has(name))
  const result = await send(deps, { by, step: 'applyDeployItems' }, due)
  const written = new Set(writes.map((write) => write.name))
  const untouched = existing
    .filter((item) => !written.has(item.metadata.name) && isChangedSince(item, known))
    .map((item) => deployItemView(item, by, deps))
  return { ...result, items: [...untouched, ...result.items] }
}

function childOf({ namespace }: Subject, { uid, name, version, finalizers, jobID }: ItemsInput['items'][number]) {
  return { uid, name, version, finalizers, jobID, watched: deployItemKind, namespace }
}

function plannedWrites(
  execution: Execution,
  items: readonly DeployItemTemplate[],
  existing: readonly DeployItem[],
  writing: Writing,
): ItemWrite[] {
  const nameProblem = ownerNameProblem('Execution', execution.metadata.name)
  if (nameProblem !== undefined) throw finalFailure('ERR_CONFIGURATION_PROBLEM', nameProblem)
  refuseUnfit(items)
  const remaining = new Map(
    existing.filter((item) => item.metadata.deletionTimestamp === undefined).map((item) => [itemNameOf(item), item]),
  )
  const wanted = new Set(items.map((item) => item.name))
  refuseSharedNames(execution, items, remaining, writing.jobID)
  const orphans = [...remaining.entries()].filter(([name]) => !wanted.has(name)).map(([, item]) => item)
  return [
    ...items.flatMap((item) => itemWrite(execution, item, remaining.get(item.name), writing)),
    ...orphans.map((item) => {
      const { uid, resourceVersion: version } = item.metadata
      return deleteChild({ ...objectAt(item), uid, version })
    }),
  ]
}

// The API server's rejection would name only the first item, and by the object's name.
function refuseUnfit(items: readonly DeployItemTemplate[]): void {
  const excess = countProblem(items.length)
  if (excess !== undefined) throw finalFailure('InvalidDeployItems', excess)
  const problems = items.flatMap((item) =>
    itemProblems(item).map((problem) => `deploy item "${shownName(item.name)}": ${problem}`),
  )
  if (problems.length > 0) throw finalFailure('InvalidDeployItems', shortenList(problems, MOST_PROBLEMS).join(' | '))
}

// Shortened names differ only in their hash; two items with the same name would overwrite each other forever.
function refuseSharedNames(
  execution: Execution,
  items: readonly DeployItemTemplate[],
  remaining: ReadonlyMap<string, DeployItem>,
  jobID: string,
): void {
  const taken = new Map<string, string>()
  for (const { name: item } of items) {
    const name = remaining.get(item)?.metadata.name ?? deployItemName(execution, item, jobID)
    const other = taken.get(name)
    if (other !== undefined)
      throw finalFailure(
        'NameTaken',
        `items "${other}" and "${item}" would both be DeployItem "${name}"; rename one of them`,
      )
    taken.set(name, item)
  }
}

function itemWrite(
  execution: Execution,
  item: DeployItemTemplate,
  existing: DeployItem | undefined,
  writing: Writing,
): ItemWrite[] {
  if (existing === undefined) {
    const body = newDeployItem(execution, item, writing)
    const isOurs = (found: KubeObject) => isOwnedBy(found, executionKind, execution.metadata)
    return [{ verb: 'create', ...objectAt(body, execution), body, isOurs }]
  }
  const patch = itemPatch(execution, item, existing, writing)
  if (patch === undefined) return []
  // Another job on the item means that this job is over, and its spec is outdated.
  const isSame = (current: KubeObject) =>
    current.metadata.uid === existing.metadata.uid && targetView(current).jobID === targetView(existing).jobID
  const reapply = (current: DeployItem) =>
    isSame(current) ? (itemPatch(execution, item, current, writing) ?? 'done') : 'superseded'
  return [{ verb: 'patch', ...objectAt(existing), version: existing.metadata.resourceVersion, patch, reapply }]
}

function itemPatch(
  execution: Execution,
  item: DeployItemTemplate,
  existing: DeployItem,
  { now, clusterOf }: Writing,
): Patch | undefined {
  const desired = desiredDeployItem(execution, item, clusterOf(item))
  const found = existing.spec
  if (found.type !== desired.spec.type) {
    throw finalFailure(
      'ImmutableType',
      `deploy item "${item.name}": type: found "${desired.spec.type}"; expected "${found.type}" as in DeployItem "${existing.metadata.name}", because the type is immutable: rename the item to change it`,
    )
  }
  // The labels are those of the template and of Pawl: a label that was removed from the template is removed from the item.
  const labels = mergePatch(existing.metadata.labels ?? {}, desired.labels)
  const annotations = additivePatch(existing.metadata.annotations ?? {}, desired.annotations)
  const spec = mergePatch(found, desired.spec)
  if (labels === undefined && annotations === undefined && spec === undefined) return undefined
  return {
    metadata: {
      ...(labels !== undefined && { labels }),
      annotations: { ...annotations, ...writtenAt(now), ...(spec !== undefined && withoutSkip(existing)) },
    },
    ...(spec !== undefined && { spec }),
  }
}

/** An item with a changed spec is a different item, so the user's skip does not apply to it. */
function withoutSkip({ metadata }: DeployItem): Readonly<Record<string, null>> {
  return metadata.annotations?.[SKIP_ANNOTATION] === undefined ? {} : { [SKIP_ANNOTATION]: null }
}

function objectAt(object: KubeObject, within: KubeObject = object) {
  return { watched: deployItemKind, namespace: within.metadata.namespace ?? '', name: object.metadata.name }
}
