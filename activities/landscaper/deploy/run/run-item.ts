// Runs the items of long deployers: everything about an item that is the same for all of them. Source: spec/landscaper.md 2.9, 4.9.
//
//   I1. One status write if the item ends in its first attempt, another one if it waits or gets new objects (I4), and one per new error.
//   I2. An item that another process has ended (interrupt), or that has another job, is not changed, except for the list of deployed objects.
//   I3. Waiting occupies no slot: a check that finds missing state fails with a retryable failure, and Temporal retries.
//   I4. The status names the objects before they are sent, so that neither a crash nor an interrupt leaves an unknown object behind.

import type { By, ErrorReport } from '../../../../workflows/kit/index.ts'
import { type DeployItem, deployItemKind } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import type { LandscaperDeps } from '../../deps.ts'
import { isFinal, KubeError, toApplicationFailure } from '../../../kube/errors.ts'
import { isDeletedWithoutFinalizers } from '../../../kube/object-views.ts'
import { readObject } from '../../../kube/read-family.ts'
import type { Patch } from '../../../kube/merge-patch.ts'
import { writeAll } from '../../../kube/write.ts'
import {
  type Deployer,
  DeployError,
  type DeployStep,
  type ItemAct,
  type LongDeployer,
  longDeployerOf,
  takeStep,
  type Work,
} from './deployer.ts'
import { internalProblem, reportOf, retryFailure, toDeployError, toRemovalError } from './deploy-errors.ts'
import { exportName, type ItemExport, writeExports } from './item-export.ts'
import {
  changedFields,
  endedStatus,
  failingStatus,
  isOverdue,
  isStarting,
  type ItemJob,
  itemStatus,
  pickedUpStatus,
  remainingMs,
  providerStatusOf,
  hasOtherMessage,
  readyConditions,
  waitingStatus,
  withdrawnReadyConditions,
} from './item-status.ts'
import { claimItem } from './begin-job.ts'
import { hasLeftTarget, holdTarget, targetNameOf, releasesTargets } from './item-targets.ts'
import { hasJob, watchItem } from './item-watch.ts'
import { outcomeInTerminatingNamespace } from './namespace-end.ts'
import { type ItemWrite, releaseWrite, reportWrite, statusWrite, writeWithoutDeployer } from './item-write.ts'
import type { TargetCluster, TargetObjects } from '../target/target-cluster.ts'
import { type DeployItemView, deployItemView } from '../../deploy-item-view.ts'

export interface ItemInput {
  readonly by: By
  readonly jobID: string
  readonly uid: string
  readonly namespace: string
  readonly name: string
  /** The job belongs to the item's host and starts with the item's first status write; the item need not have its ID yet. */
  readonly isHosted?: boolean
}

export interface ItemResult {
  /** Undefined: the item is deleted. */
  readonly item: DeployItemView | undefined
  /** The item was deployed and is not ready yet: `awaitItem` is next. */
  readonly isWaiting: boolean
}

// Source: spec/landscaper.md 2.9: failures are retried every 5 s; 4.5, 4.4: checks every 5 s and 1 s; the first checks come sooner.
const RETRY_MS = 5000
const FIRST_CHECK_MS = 200
// About four seconds.
const CHECKS_BEFORE_MESSAGE = 6
const MAX_CHECK_INTERVAL_MS: Readonly<Record<ItemAct, number>> = { install: 5000, check: 5000, uninstall: 1000 }

interface Opened extends Pick<Work, 'openTarget'> {
  /** Undefined for a deployer that needs no target. */
  readonly target: TargetCluster | undefined
}

export interface ItemCall {
  readonly input: ItemInput
  readonly act: ItemAct
  readonly signal: AbortSignal
  /** From 1, as counted by Temporal. */
  readonly attempt: number
  /** The item in a version known to the caller; read when absent. */
  readonly object?: DeployItem | undefined
}

/** One attempt of one activity. @throws ApplicationFailure, see item-activities.ts. */
export async function runItem(
  deps: LandscaperDeps,
  deployers: readonly Deployer[],
  call: ItemCall,
): Promise<ItemResult> {
  try {
    return await new ItemRun(deps, deployers, call).run()
  } catch (error) {
    throw call.signal.aborted ? error : toApplicationFailure(error)
  }
}

class ItemRun {
  readonly #deps: LandscaperDeps
  readonly #deployers: readonly Deployer[]
  readonly #call: ItemCall
  #isEnding = false

  constructor(deps: LandscaperDeps, deployers: readonly Deployer[], call: ItemCall) {
    this.#deps = deps
    this.#deployers = deployers
    this.#call = call
  }

  async run(): Promise<ItemResult> {
    const { input, object = await this.#read() } = this.#call
    if (object === undefined) return GONE
    const now = this.#deps.now()
    const { jobID, isHosted = false } = input
    const taken = isHosted ? claimItem(object, jobID, now) : { object, begins: undefined }
    if (taken === undefined || !hasJob(object, { ...taken, jobID })) return this.#result(object)
    const deployer = longDeployerOf(this.#deployers, object)
    const job = { ...taken, jobID, now, deployer: deployer.name }
    const early = writeWithoutDeployer(job, this.#call.act)
    if (early === 'release') return await this.#release(job)
    if (early !== undefined) return this.#result(await this.#write(job, early))
    return await this.#claimed(job, deployer)
  }

  async #read(): Promise<DeployItem | undefined> {
    const { namespace, name, uid } = this.#call.input
    const object = await readObject(this.#deps, deployItemKind, namespace, name)
    return object?.metadata.uid === uid ? object : undefined
  }

  /** Continues when the target is open, and the status names the objects to send (I4). */
  async #claimed(job: ItemJob, deployer: LongDeployer): Promise<ItemResult> {
    let opened: Opened | undefined
    let claim: Patch | undefined
    try {
      claim = this.#claim(job, deployer)
      opened = await this.#open(job, deployer)
    } catch (error) {
      if (this.#call.signal.aborted) throw error
      return await this.#fail(job, deployer, { result: 'failed', error: this.#asDeployError(error) })
    }
    // No item has deployed to a target that cannot be opened.
    if (opened === undefined) return await this.#follow(job, deployer, { result: 'done' })
    if (claim === undefined) return await this.#work(job, deployer, opened)
    const object = await this.#write(job, statusWrite(job, claim))
    if (object === undefined || !hasJob(object, job)) return this.#result(object)
    return await this.#work(afterFirstWrite(job, object), deployer, opened)
  }

  #claim(job: ItemJob, deployer: LongDeployer): Patch | undefined {
    const { act, attempt } = this.#call
    const intended = act === 'install' ? deployer.intend?.(job.object, deployer.parse(job.object)) : undefined
    // A repeated attempt starts the job's timeout, so that the job ends eventually.
    const isLate = isStarting(job) && attempt > 1
    if (intended === undefined && !isLate) return undefined
    const fields = intended === undefined ? {} : { providerStatus: intended }
    return isStarting(job) ? pickedUpStatus(job, PHASE[act], fields) : { status: fields }
  }

  async #work(opening: ItemJob, deployer: LongDeployer, opened: Opened): Promise<ItemResult> {
    let job = opening
    const claim = async () => {
      if (job.begins === undefined) return true
      const object = await this.#write(job, statusWrite(job, pickedUpStatus(job, PHASE[this.#call.act])))
      if (object === undefined || !hasJob(object, job)) return false
      job = afterFirstWrite(job, object)
      return true
    }
    const watch = watchItem(this.#deps, job, this.#call.signal, claim)
    try {
      const work = {
        item: job.object,
        openTarget: async (name: string) => watch.guard(await opened.openTarget(name)),
        data: this.#deps.landscaper.templates.of({ namespace: job.object.metadata.namespace, signal: watch.signal })
          .data,
        signal: watch.signal,
      }
      const step = await this.#step(deployer, work, opened.target && watch.guard(opened.target))
      watch.stop()
      return await this.#follow(job, deployer, step)
    } catch (error) {
      if (this.#call.signal.aborted || watch.reason === undefined) throw error
      if (watch.reason === 'lost') return this.#result(await this.#read())
      const message = `timeout at: "${startCheckpoint(deployer, this.#call.act)}": the target did not answer in time`
      return await this.#timeOut(job, {}, message)
    } finally {
      watch.stop()
    }
  }

  async #step(deployer: LongDeployer, work: Work, target: TargetCluster | undefined): Promise<DeployStep> {
    const { act } = this.#call
    try {
      if (!deployer.needsTarget) return await takeStep(deployer, act, work)
      if (target === undefined) throw new Error(`no target was opened for deploy item "${work.item.metadata.name}"`)
      return await takeStep(deployer, act, { ...work, target })
    } catch (error) {
      if (work.signal.aborted) throw error
      return { result: 'failed', error: this.#asDeployError(error) }
    }
  }

  async #open({ object }: ItemJob, { needsTarget }: LongDeployer): Promise<Opened | undefined> {
    const { namespace } = object.metadata
    const { act, input, signal } = this.#call
    const beforeUse = async (objects: TargetObjects) =>
      act === 'uninstall' ? objects : await holdTarget(this.#deps, input.by, object, objects)
    const openTarget = (name: string) => this.#deps.landscaper.targets.open(namespace, name, signal, beforeUse)
    try {
      return { openTarget, target: needsTarget ? await openTarget(targetNameOf(object)) : undefined }
    } catch (error) {
      const isForGood = error instanceof DeployError && error.isFinal
      const isUntouched = itemStatus({ object }).providerStatus === undefined
      if (act === 'uninstall' && isForGood && isUntouched) return undefined
      throw error
    }
  }

  // A bug of the deployer, or an answer that no server should send, is retried until the item's timeout, like any other failure.
  #asDeployError(error: unknown): DeployError {
    const operation = OPERATION[this.#call.act]
    const toError = this.#call.act === 'uninstall' ? toRemovalError : toDeployError
    if (error instanceof DeployError || error instanceof KubeError) return toError(operation, error)
    return internalProblem(operation, { metadata: this.#call.input }, error, this.#deps.log)
  }

  async #follow(job: ItemJob, deployer: LongDeployer, step: DeployStep): Promise<ItemResult> {
    switch (step.result) {
      case 'done':
        return await this.#done(job, deployer, step)
      case 'waiting':
        return await this.#wait(job, deployer, step)
      case 'failed':
        return await this.#fail(job, deployer, step)
    }
  }

  async #done(job: ItemJob, deployer: LongDeployer, step: DeployStep & { result: 'done' }): Promise<ItemResult> {
    if (this.#call.act === 'uninstall') return await this.#release(job)
    const { exports = {} } = step
    const isExporting = Object.keys(exports).length > 0
    const error = isExporting ? await this.#export(job, deployer, exports) : undefined
    if (error !== undefined)
      return await this.#fail(job, deployer, { ...providerStatusOf(step), result: 'failed', error })
    const { namespace } = this.#call.input
    const exportRef = isExporting ? { name: exportName(deployer, job.object), namespace } : null
    const fields = { ...providerStatusOf(step), exportRef, ...readyConditions(job, undefined) }
    const object = await this.#write(
      job,
      statusWrite(job, endedStatus(job, 'Succeeded', fields), providerStatusOf(step)),
    )
    if (object !== undefined && hasLeftTarget(job.object, object)) await this.#releaseTargets()
    return this.#result(object)
  }

  /**
   * Removes the finalizer of the item, and of Targets without further users. An Execution that is being deleted releases Targets after its last item.
   * Other items release their Targets before the item is deleted, because no run repeats the release afterwards, and after it, because two items may
   * be deleted at once.
   */
  async #release({ object, ...job }: ItemJob): Promise<ItemResult> {
    const releases = releasesTargets(this.#deps, object)
    if (releases) await this.#releaseTargets(object.metadata.uid)
    const left = await this.#write({ object, ...job }, releaseWrite(object))
    if (releases) await this.#releaseTargets()
    return this.#result(left)
  }

  async #releaseTargets(leaving?: string): Promise<void> {
    const { by, namespace } = this.#call.input
    await this.#deps.landscaper.protection.removeFinalizers(by, namespace, leaving)
  }

  async #export(
    { object }: ItemJob,
    deployer: LongDeployer,
    content: ItemExport['content'],
  ): Promise<DeployError | undefined> {
    const writer = { ...this.#call.input.by, step: 'exportItem', fieldManager: FIELD_MANAGER }
    const failures = await writeExports(this.#deps, writer, [{ object, name: exportName(deployer, object), content }])
    const [failure] = failures.values()
    if (failure === undefined) return undefined
    const { code, message, isFinal } = failure
    return new DeployError('Export', code, message, isFinal ? ['ERR_CONFIGURATION_PROBLEM'] : [])
  }

  async #wait(job: ItemJob, deployer: LongDeployer, step: DeployStep & { result: 'waiting' }): Promise<ItemResult> {
    const { act, attempt } = this.#call
    const { checkpoint, waitingFor } = step
    if (isOverdue(job)) return await this.#timeOut(job, step, `timeout at: "${checkpoint}": ${waitingFor}`)
    const patch = this.#waitingPatch(job, step)
    const object =
      patch === undefined ? job.object : await this.#write(job, statusWrite(job, patch, providerStatusOf(step)))
    if (object === undefined || !hasJob(object, job)) return this.#result(object)
    if (act === 'install') return { ...this.#result(object), isWaiting: true }
    const wantedMs = Math.min(MAX_CHECK_INTERVAL_MS[act], FIRST_CHECK_MS * 1.5 ** Math.min(attempt - 1, 20))
    const type = act === 'uninstall' ? 'NotGone' : 'NotReady'
    throw retryFailure(type, `${deployer.name}: ${waitingFor}`, this.#delay(job, wantedMs))
  }

  #waitingPatch(job: ItemJob, step: DeployStep & { result: 'waiting' }): Patch | undefined {
    const { act, attempt } = this.#call
    const said = readyConditions(job, step.waitingFor)
    const patch = waitingStatus(job, PHASE[act], { ...providerStatusOf(step), ...said })
    // Only long waits write a changed message, so that quick roll-outs cost no additional write.
    const isNews = attempt >= CHECKS_BEFORE_MESSAGE && hasOtherMessage(job, step.waitingFor)
    // The written list has the uids of the sent objects: without them, the next attempt would send the objects again.
    const sent = changedFields(job, providerStatusOf(step))
    return patch ?? (isNews || Object.keys(sent).length > 0 ? { status: { ...sent, ...said } } : undefined)
  }

  async #fail(job: ItemJob, deployer: LongDeployer, failed: DeployStep & { result: 'failed' }): Promise<ItemResult> {
    const { act } = this.#call
    const end =
      act === 'uninstall' ? await outcomeInTerminatingNamespace(this.#deps, job.object, failed.error) : undefined
    if (end === 'released') return await this.#release(job)
    const step = { ...failed, error: end ?? failed.error }
    const { reason, message, isFinal } = step.error
    const error = reportOf(step.error)
    if (isFinal) return await this.#end(job, step, error)
    if (isOverdue(job))
      return await this.#timeOut(job, step, `timeout at: "${startCheckpoint(deployer, act)}": ${message}`)
    const patch = failingStatus(
      job,
      error,
      PHASE[act],
      changedFields(job, { ...providerStatusOf(step), ...withdrawnReadyConditions(job, message) }),
    )
    const object =
      patch === undefined ? job.object : await this.#write(job, statusWrite(job, patch, providerStatusOf(step)))
    if (object === undefined || !hasJob(object, job)) return this.#result(object)
    throw retryFailure('DeployFailed', `${reason}: ${message}`, this.#delay(job, RETRY_MS))
  }

  async #timeOut(job: ItemJob, step: Pick<DeployStep, 'providerStatus'>, message: string): Promise<ItemResult> {
    return await this.#end(job, step, { operation: OPERATION[this.#call.act], ...TIMEOUT, message })
  }

  async #end(job: ItemJob, step: Pick<DeployStep, 'providerStatus'>, error: ErrorReport): Promise<ItemResult> {
    const phase = this.#call.act === 'uninstall' ? 'DeleteFailed' : 'Failed'
    const fields = { ...providerStatusOf(step), ...withdrawnReadyConditions(job, error.message) }
    const write = statusWrite(job, endedStatus(job, phase, fields, error), providerStatusOf(step))
    return this.#result(await this.#write(job, write))
  }

  // The last attempt is at the timeout, not up to one interval later.
  #delay({ object }: ItemJob, wantedMs: number): number {
    const remaining = remainingMs(object, this.#deps.now())
    return remaining === undefined ? wantedMs : Math.max(MIN_DELAY_MS, Math.min(wantedMs, remaining))
  }

  /** @returns the current item; undefined when it is deleted. */
  async #write(job: ItemJob, write: ItemWrite): Promise<DeployItem | undefined> {
    const writer = { ...this.#call.input.by, step: STEP[this.#call.act], fieldManager: FIELD_MANAGER }
    const [answer] = await writeAll(this.#deps, writer, [write])
    if (answer === undefined) throw new Error(`no answer for ${job.object.metadata.name}`)
    if (answer.result === 'failed') return await this.#refused(job, write, answer.error)
    await reportWrite(this.#deps, { by: this.#call.input.by, jobID: job.jobID, now: job.now }, answer)
    return answer.result === 'gone' || isDeletedWithoutFinalizers(answer.object) ? undefined : answer.object
  }

  // A permanent rejection is not retried: the item ends without the rejected fields, with the server's reason.
  async #refused(job: ItemJob, write: ItemWrite, error: KubeError): Promise<DeployItem | undefined> {
    const isLast = write.verb !== 'patchStatus' || !isFinal(error) || this.#isEnding
    if (isLast) throw error
    this.#isEnding = true
    const { reason, message } = error
    const report = { operation: OPERATION[this.#call.act], reason, message, codes: ['ERR_CONFIGURATION_PROBLEM'] }
    const phase = this.#call.act === 'uninstall' ? 'DeleteFailed' : 'Failed'
    return await this.#write(job, statusWrite(job, endedStatus(job, phase, {}, report)))
  }

  #result(object: DeployItem | undefined): ItemResult {
    if (object === undefined) return GONE
    return { item: deployItemView(object, this.#call.input.by, this.#deps), isWaiting: false }
  }
}

const GONE: ItemResult = { item: undefined, isWaiting: false }
const PHASE: Readonly<Record<ItemAct, string>> = { install: 'Progressing', check: 'Progressing', uninstall: 'Deleting' }
const FIELD_MANAGER = 'pawl-deploy'
const MIN_DELAY_MS = 100
const OPERATION: Readonly<Record<ItemAct, string>> = { install: 'Reconcile', check: 'Reconcile', uninstall: 'Delete' }
const STEP: Readonly<Record<ItemAct, string>> = { install: 'applyItem', check: 'awaitItem', uninstall: 'uninstallItem' }
const TIMEOUT = { reason: 'ProgressingTimeout', codes: ['ERR_TIMEOUT'] }

/** The job after its first write. */
function afterFirstWrite(job: ItemJob, object: DeployItem): ItemJob {
  return { ...job, object, begins: undefined }
}

// Source: spec/landscaper.md 4.5 "Timeout checkpoints".
function startCheckpoint({ name }: LongDeployer, act: ItemAct): string {
  return `${name} deployer: ${act === 'uninstall' ? 'start delete' : 'start reconcile'}`
}
