// The manifest deployer: applies the manifests of an item to its target. Source: spec/landscaper.md 4.2, 4.4, 4.5.
//
//   D1. One attempt goes as far as it can: apply, clean up orphans, readiness, exports, patches. The runner repeats an attempt that has to wait;
//       none sleeps.
//   D2. After the first write, every result has the current list of deployed objects, so that no failure loses it.
//   D3. An object that vanishes while a check waits is applied again, because another object may wait for it; an object that runs once is not
//       (run-once.ts).
//   D4. Orphans are removed before the new objects are ready (appendix B 32), and only after an apply without errors. An orphan that holds a resource
//       for which the API server rejects a new object is removed first (blocking-orphans.ts).

import type { KubeObject } from '../../../kube/client.ts'
import type { DeployItem } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { KubeError } from '../../../kube/errors.ts'
import { DeployError, type DeployStep, type ItemWork, type TargetDeployer } from '../run/deployer.ts'
import { toDeployError } from '../run/deploy-errors.ts'
import { inParallel } from '../../../kube/in-parallel.ts'
import { checkReadiness } from '../objects/readiness/check-readiness.ts'
import { notReady } from '../objects/readiness/default-checks.ts'
import { readExports } from '../objects/resource-exports.ts'
import { servedInAnyVersion } from '../target/discovery.ts'
import { readServed } from '../target/read-object.ts'
import { applyManifests } from '../objects/apply.ts'
import { OPERATION, PATCH_OPERATION, patchDeployed } from '../objects/apply-object.ts'
import { blockingOrphan, type Rejection } from '../objects/blocking-orphans.ts'
import { isLabelled, itemLabel, type ItemLabels } from '../objects/ownership-labels.ts'
import { awaitedDefinition, unestablished } from '../objects/placement.ts'
import { DEFAULT_GROUPS, isCrd } from '../objects/deletion-groups.ts'
import { forgetKinds, isOfAll, leaveFormerTarget, removalStep, targetOf } from '../objects/removal.ts'
import {
  isAmong,
  type ManagedResource,
  managedResource,
  orphansOf,
  union,
  withKnownUids,
} from '../objects/managed-resources.ts'
import { type Manifest } from '../objects/manifest.ts'
import { joinedError, formatList } from '../objects/problems.ts'
import { completedBy, isCompleted } from '../objects/run-once.ts'
import { OWNERSHIP_LABELS } from './ownership-labels.ts'
import { type ManifestConfig, readManifestConfig } from './config.ts'
import { intendedStatus, providerStatus, previousDeployment } from './provider-status.ts'

const NAME = 'manifest'
const READS_AT_ONCE = 10
// Source: spec/landscaper.md 4.5 "Timeout checkpoints".
const AT_APPLY = 'deployer: apply manifests'
const AT_CLEANUP = 'deployer: cleanup orphaned'
const AT_DELETE = 'deployer: delete resources'

export const deployer: TargetDeployer<ManifestConfig> = {
  type: 'landscaper.gardener.cloud/kubernetes-manifest',
  name: NAME,
  pace: 'long',
  needsTarget: true,
  parse: readManifestConfig,
  intend: intendedStatus,
  install: (work, config) => new Deployment(work, config).look('apply'),
  check: (work, config) => new Deployment(work, config).look('continue'),
  uninstall,
}

/** One attempt at an item that is to be deployed. */
class Deployment {
  readonly #work: ItemWork
  readonly #config: ManifestConfig
  #orphans: readonly ManagedResource[]
  /** The objects of the configuration that are on the target, as far as known. */
  #managed: readonly ManagedResource[]
  /** The uids of the objects that this attempt has found ready. */
  #ready: ReadonlySet<string | undefined> = new Set()
  /** The uids of the objects that this attempt has changed. */
  #changed: ReadonlySet<string | undefined> = new Set()
  readonly #removedFirst = new Set<ManagedResource>()
  #hasVanished = false

  constructor(work: ItemWork, config: ManifestConfig) {
    const { managed: remembered } = previousDeployment(work.item)
    this.#work = work
    this.#config = config
    this.#orphans = orphansOf(remembered, this.#config.manifests)
    const orphans = new Set(this.#orphans)
    this.#managed = remembered.filter((managed) => !orphans.has(managed))
  }

  async look(mode: 'apply' | 'continue'): Promise<DeployStep> {
    const left = await this.#leave()
    if (left !== undefined) return left
    const applied = mode === 'apply' || !this.#isApplied() ? await this.#apply() : undefined
    if (applied !== undefined) return this.#withStatus(applied, this.#orphans)
    const cleaned = await this.#guarded('CleanupOrphaned', () => this.#cleanUp())
    if (cleaned !== undefined) return this.#withStatus(cleaned, this.#orphans)
    const finished = await this.#guarded('CheckReadiness', () => this.#finish())
    // D3. Once per attempt: the next attempt handles the result.
    const again = mode === 'continue' && this.#hasVanished ? await this.#apply() : undefined
    return this.#withStatus(again ?? finished, [])
  }

  /** Removes the objects on a former Target. @returns the reason to wait; the status stays unchanged until no object is left there. */
  async #leave(): Promise<DeployStep | undefined> {
    const { item } = this.#work
    const { managed: resources, targetName } = previousDeployment(item)
    const groups = this.#config.deletionGroupsDuringUpdate
    const removal = {
      work: this.#work,
      operation: 'CleanupOrphaned',
      mark: markOf(item),
      resources,
      groups,
      spared: [],
    }
    const step = await leaveFormerTarget({ ...removal, targetName })
    if (step.result === 'waiting') return { ...step, checkpoint: AT_CLEANUP }
    if (step.result !== 'gone') return step.result === 'here' ? undefined : step
    this.#orphans = []
    this.#managed = []
    return undefined
  }

  /** Objects without uid were not applied, because their CRD was not established. Objects of other owners are not in the list. */
  #isApplied(): boolean {
    const isKnown = isAmong(this.#managed)
    const mayBeUnknown = ({ policy }: Manifest) => ['ignore', 'fallback', 'immutable'].includes(policy)
    const hasUids = this.#managed.every(({ resource }) => resource.uid !== undefined)
    return hasUids && this.#config.manifests.every((manifest) => mayBeUnknown(manifest) || isKnown(manifest))
  }

  /** D4. @returns as `#applyOnce`, when no orphan blocks the apply any more. */
  async #apply(): Promise<DeployStep | undefined> {
    for (;;) {
      const { step, rejections } = await this.#applyOnce()
      const removed = rejections.length === 0 ? 'none' : await this.#removeBlocker(rejections)
      if (removed === 'none') return step
      if (removed !== 'gone') return removed
    }
  }

  /** @returns `none` when no orphan holds what the rejected objects need, `gone` when an orphan was removed, else the step to return. */
  async #removeBlocker(rejections: readonly Rejection[]): Promise<DeployStep | 'none' | 'gone'> {
    const { item, target, signal } = this.#work
    // An orphan in no deletion group stays; Pawl checks it once.
    const orphans = this.#orphans.filter((orphan) => !this.#removedFirst.has(orphan))
    const search = { target, mark: markOf(item), orphans, rejections, signal }
    let blocker: ManagedResource | undefined
    const step = await this.#guarded('CleanupOrphaned', async () => {
      blocker = await blockingOrphan(search)
      return blocker === undefined ? undefined : await this.#remove([blocker], 'first')
    })
    if (step !== undefined) return step
    if (blocker === undefined) return 'none'
    this.#removedFirst.add(blocker)
    return 'gone'
  }

  /** @returns `step`: the failure or the wait; undefined when all objects are applied. */
  async #applyOnce(): Promise<{ step: DeployStep | undefined; rejections: readonly Rejection[] }> {
    const { item, target, signal } = this.#work
    const { manifests, updateStrategy: strategy } = this.#config
    const marks = { ...markOf(item), strategy }
    const input = { target, manifests, marks, signal, jobID: jobOf(item), remembered: this.#managed }
    const { managed, objects, changed, pending, problems, rejections } = await applyManifests(input)
    this.#changed = changed
    const isReadyNow = (object: KubeObject) => isReady(object, changed.has(object.metadata.uid))
    this.#ready = new Set(objects.filter(isReadyNow).map(({ metadata }) => metadata.uid))
    const failed = problems.length > 0
    this.#managed = failed ? withKnownUids(managed, this.#managed) : managed
    for (const object of objects) this.#observe(object)
    if (failed) return { step: { result: 'failed', error: joinedError(OPERATION, problems) }, rejections }
    if (pending.length === 0) return { step: undefined, rejections }
    return { step: { result: 'waiting', checkpoint: AT_APPLY, waitingFor: formatList(pending) }, rejections }
  }

  /** An orphan that is the same object as an applied one, in another API group, stays. */
  async #cleanUp(): Promise<DeployStep | undefined> {
    const applied = new Set(this.#managed.flatMap(({ resource }) => resource.uid ?? []))
    const isApplied = ({ resource: { uid } }: ManagedResource) => uid !== undefined && applied.has(uid)
    return await this.#remove(
      this.#orphans.filter((orphan) => !isApplied(orphan)),
      'last',
    )
  }

  async #remove(resources: readonly ManagedResource[], order: 'first' | 'last'): Promise<DeployStep | undefined> {
    const { deletionGroupsDuringUpdate: groups } = this.#config
    const step = await removalStep({
      work: this.#work,
      operation: 'CleanupOrphaned',
      mark: markOf(this.#work.item),
      resources,
      // Groups that delete all objects of a type take more than one orphan.
      groups: order === 'last' ? groups : groups.filter((group) => !isOfAll(group)),
      spared: this.#managed,
    })
    if (step.result === 'gone') return undefined
    return step.result === 'waiting' ? { ...step, checkpoint: AT_CLEANUP } : step
  }

  async #finish(): Promise<DeployStep> {
    const { target, signal } = this.#work
    const { readiness, exports, manifests } = this.#config
    const objects = this.#managed
      .map(({ resource, applied }) => ({ ...resource, isFinished: applied !== undefined }))
      .filter(({ uid }) => !this.#ready.has(uid))
    const definition = readiness.disableDefault ? undefined : await awaitedDefinition(target, objects, signal)
    if (definition !== undefined) return waitingForDefinition(definition)
    const { hasVanished = false, ...ready } = await checkReadiness({
      work: this.#work,
      objects,
      config: readiness,
      changed: this.#changed,
      finished: this.#managed.filter(({ applied }) => applied !== undefined),
      observe: (object) => this.#observe(object),
      satisfied: (finished, check) => this.#noteSatisfied(finished, check),
    })
    this.#hasVanished = hasVanished
    if (ready.result !== 'done') return ready
    const exported = await readExports({ work: this.#work, exports, deployer: NAME })
    if (exported.result !== 'done') return exported
    const problems = await patchDeployed(
      { target, ownership: OWNERSHIP_LABELS, signal },
      manifests.filter(isAmong(this.#managed)),
    )
    return problems.length === 0 ? exported : { result: 'failed', error: joinedError(PATCH_OPERATION, problems) }
  }

  /** A completed object of any kind runs once: a controller may delete it from now on. */
  #observe(object: KubeObject): void {
    if (!isCompleted(object)) return
    this.#managed = this.#managed.map((managed) => {
      if (managed.applied !== undefined || managed.resource.uid !== object.metadata.uid) return managed
      const manifest = this.#config.manifests.find(isAmong([managed]))
      const applied = manifest && completedBy(manifest, jobOf(this.#work.item))
      return applied === undefined ? managed : { ...managed, applied }
    })
  }

  #noteSatisfied({ resource }: ManagedResource, check: string): void {
    this.#managed = this.#managed.map((managed) => {
      const { applied } = managed
      if (applied === undefined || managed.resource.uid !== resource.uid) return managed
      return { ...managed, applied: { ...applied, checks: [...(applied.checks ?? []), check].sort() } }
    })
  }

  async #guarded<Step extends DeployStep | undefined>(
    operation: string,
    work: () => Promise<Step>,
  ): Promise<Step | DeployStep> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof DeployError || error instanceof KubeError)
        return { result: 'failed', error: toDeployError(operation, error) }
      throw error
    }
  }

  #withStatus(step: DeployStep, orphans: readonly ManagedResource[]): DeployStep {
    return {
      ...step,
      providerStatus: providerStatus(this.#config.apiVersion, union(orphans, this.#managed), targetOf(this.#work.item)),
    }
  }
}

function jobOf({ status }: DeployItem): string | undefined {
  return status?.jobID === '' ? undefined : status?.jobID
}

function markOf({ metadata }: DeployItem): ItemLabels {
  return { ownership: OWNERSHIP_LABELS, item: itemLabel(metadata.name) }
}

function isReady(object: KubeObject, isChanged: boolean): boolean {
  return notReady(object, isChanged) === undefined && !(isCrd(object) && unestablished(object) !== undefined)
}

function waitingForDefinition(definition: KubeObject): DeployStep {
  const { name } = definition.metadata
  const checkpoint = `deployer: during readiness check - resource /${name} of type CustomResourceDefinition`
  return { result: 'waiting', checkpoint, waitingFor: unestablished(definition) ?? name }
}

async function uninstall(work: ItemWork): Promise<DeployStep> {
  const config = removalConfig(work.item)
  const mark = markOf(work.item)
  const { managed, targetName } = previousDeployment(work.item)
  const removal = { work, operation: 'DeleteResources', mark, groups: config.deletionGroups, spared: [] }
  const left = await leaveFormerTarget({ ...removal, resources: managed, targetName })
  if (left.result === 'waiting') return { ...left, checkpoint: AT_DELETE }
  if (left.result === 'failed') return left
  const remembered = left.result === 'here' ? managed : []
  forgetKinds(
    work.target,
    config.manifests.map((manifest) => managedResource(manifest, {})),
  )
  const resources = union(remembered, await unremembered(work, config, { remembered, mark }))
  const step = await removalStep({ ...removal, resources })
  if (step.result === 'gone') return { result: 'done' }
  return step.result === 'waiting' ? { ...step, checkpoint: AT_DELETE } : step
}

/**
 * The configuration for an uninstallation. An invalid configuration does not block the uninstallation of earlier objects, unless it has deletion
 * groups:
 * then the objects to keep are unknown.
 */
function removalConfig(item: ItemWork['item']): Pick<ManifestConfig, 'manifests' | 'deletionGroups'> {
  try {
    return readManifestConfig(item)
  } catch (error) {
    const { config } = item.spec
    if (!(error instanceof DeployError) || (config !== undefined && 'deletionGroups' in config)) throw error
    return { manifests: [], deletionGroups: DEFAULT_GROUPS }
  }
}

/** Objects with this item's label that a crash kept out of the status. */
async function unremembered(
  work: ItemWork,
  { manifests }: Pick<ManifestConfig, 'manifests'>,
  { remembered, mark }: { remembered: readonly ManagedResource[]; mark: ItemLabels },
): Promise<readonly ManagedResource[]> {
  const isKnown = isAmong(remembered)
  const unknown = manifests.filter((manifest) => manifest.policy !== 'ignore' && !isKnown(manifest))
  const { target, signal } = work
  const found = await inParallel(unknown, READS_AT_ONCE, async (manifest): Promise<ManagedResource | undefined> => {
    const served = await servedInAnyVersion(target, manifest.object, signal)
    if (served === undefined) return undefined
    const live = await readServed(target, { served, ...manifest.object.metadata, signal })
    if (live === undefined || !isLabelled(live.metadata.labels, mark)) return undefined
    return managedResource(manifest, { isNamespaced: served.namespaced })
  })
  return found.filter((managed) => managed !== undefined)
}
