// Runs the items of quick deployers. Their results depend on the items alone, so a pass handles many of them in one call. Source: spec/landscaper.md
// 2.9, 4.9.
//
//   A1. One write per item and job if the item ends at once, and another one for an export.
//   A2. The items of a call are written in parallel until the call's time is up; a failing item delays no sibling.

import type { By, Subject } from '../../../../workflows/kit/index.ts'
import type { DeployItem } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import type { LandscaperDeps } from '../../deps.ts'
import { isFinal } from '../../../kube/errors.ts'
import { isDeletedWithoutFinalizers, targetView } from '../../../kube/object-views.ts'
import { inParallel } from '../../../kube/in-parallel.ts'
import type { Patch } from '../../../kube/merge-patch.ts'
import { PARALLEL_WRITES, type Writer, writeAll } from '../../../kube/write.ts'
import { processInTime } from '../../../run/process-in-time.ts'
import { internalProblem, reportOf } from './deploy-errors.ts'
import { DeployError, type Deployer, isQuick, type QuickAnswer, type QuickDeployer } from './deployer.ts'
import { type ExportFailure, exportName, type ItemExport, writeExports } from './item-export.ts'
import {
  endedStatus,
  failingStatus,
  FINAL_PHASES,
  isOverdue,
  isStarting,
  isUnchanged,
  type ItemJob,
  itemStatus,
  pickedUpStatus,
  timeoutProblem,
  unchangedStatus,
} from './item-status.ts'
import {
  type ItemAnswer,
  type ItemWrite,
  type ItemWriter,
  releaseWrite,
  reportWrite,
  statusWrite,
} from './item-write.ts'
import { claimItem } from './begin-job.ts'
import { hasJob } from './item-watch.ts'
import { readItems } from './observe.ts'
import { type DeployItemView, deployItemView } from '../../deploy-item-view.ts'

export interface QuickItemsInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  readonly items: readonly Pick<DeployItemView, 'uid' | 'item'>[]
  /** The job belongs to the items' host and starts with their first status writes; the items need not have its ID yet. */
  readonly isHosted?: boolean
  readonly ownVersion: number
}

export interface QuickItemsResult {
  readonly items: readonly DeployItemView[]
  readonly gone: readonly string[]
  readonly failures: readonly { readonly object: string; readonly code: string; readonly message: string }[]
  /** uids of the items that the call had no time for; the caller passes them again. Absent: none. */
  readonly left?: readonly string[]
}

const WRITER = 'pawl-deploy'

export const quickItemActivities = (deps: LandscaperDeps, deployers: readonly Deployer[]) => ({
  /**
   * Advances items of quick deployers in this job. Idempotent: an item that has finished, or waits correctly, is unchanged.
   * The activity's name and the step names of its writes are part of recorded histories and of the journal, from when mock was the only quick deployer.
   *
   * @returns the current items; failures per item, to be retried; the items without time.
   */
  async deployMockItems({
    by,
    subject,
    jobID,
    items,
    ownVersion,
    isHosted = false,
  }: QuickItemsInput): Promise<QuickItemsResult> {
    const quick = new Map(deployers.filter(isQuick).map((one) => [one.type, one]))
    const now = deps.now()
    const uids = new Set(items.map(({ uid }) => uid))
    const all = await readItems(deps, { by, subject }, ownVersion)
    const decided = all
      .filter((object) => uids.has(object.metadata.uid))
      .map((object) => stepOf(deps, quick.get(object.spec.type), { object, jobID, now }, isHosted))
    const { results, left } = await processInTime(deps, decided, (part) => writeSteps(deps, { by, jobID, now }, part))
    return { ...result(deps, by, results), left: left.map(({ object }) => object.metadata.uid) }
  },
})

async function writeSteps(deps: LandscaperDeps, writer: ItemWriter, decided: readonly Step[]): Promise<WrittenSteps> {
  const { by } = writer
  const exports = decided.flatMap(({ exported }) => exported ?? [])
  const refused = await writeExports(deps, { ...by, step: 'exportMockItems', fieldManager: WRITER }, exports)
  const steps = decided.map((step) => afterExportFailure(step, refused))
  const first = await write(deps, { ...by, step: 'deployMockItems', fieldManager: WRITER }, steps)
  // A permanent rejection is not retried: the item fails with the server's reason.
  const ends = first.flatMap(({ step, answer }) => endAfterRejection(step, answer))
  const second = await write(deps, { ...by, step: 'endRefusedItems', fieldManager: WRITER }, ends)
  const ended = new Set(ends.map(({ object }) => object))
  const written = [...first.filter(({ step }) => !ended.has(step.object)), ...second]
  await inParallel(written, PARALLEL_WRITES, ({ answer }) => reportWrite(deps, writer, answer))
  return { steps, written }
}

interface Step {
  readonly object: DeployItem
  /** Absent if nothing is written. */
  readonly job?: ItemJob
  readonly write?: ItemWrite
  readonly exported?: ItemExport
  /** Failure to be retried. */
  readonly failure?: Pick<ExportFailure, 'code' | 'message'>
}

interface Written {
  readonly step: Step
  readonly answer: ItemAnswer
}

interface WrittenSteps {
  readonly steps: readonly Step[]
  readonly written: readonly Written[]
}

async function write(deps: LandscaperDeps, writer: Writer, steps: readonly Step[]): Promise<Written[]> {
  const acting = steps.flatMap((step) => (step.write === undefined ? [] : [{ step, write: step.write }]))
  const writes = acting.map((one) => one.write)
  const answers = await writeAll(deps, writer, writes)
  return acting.flatMap(({ step }, index) => {
    const answer = answers[index]
    return answer === undefined ? [] : [{ step, answer }]
  })
}

/** Fails an item whose export could not be written, so that it does not report success. */
function afterExportFailure(step: Step, refused: ReadonlyMap<string, ExportFailure>): Step {
  const { object, job } = step
  const failure = refused.get(object.metadata.uid)
  if (failure === undefined || job === undefined) return step
  const { code: reason, message } = failure
  const error = { operation: 'Export', reason, message }
  if (failure.isFinal)
    return { object, job, write: statusWrite(job, endedStatus(job, 'Failed', {}, { ...error, codes })) }
  return retryStep(job, failure, reason === 'Changed' ? undefined : failingStatus(job, error))
}

const codes = ['ERR_CONFIGURATION_PROBLEM']

function retryStep(job: ItemJob, failure: NonNullable<Step['failure']>, patch: Patch | undefined): Step {
  return { object: job.object, job, failure, ...(patch !== undefined && { write: statusWrite(job, patch) }) }
}

function endAfterRejection({ object, job, write }: Step, answer: ItemAnswer): Step[] {
  if (job === undefined || write?.verb !== 'patchStatus') return []
  if (answer.result !== 'failed' || !isFinal(answer.error)) return []
  const { reason, message } = answer.error
  const error = { operation: 'Reconcile', reason, message, codes }
  return [{ object, job, write: statusWrite(job, endedStatus(job, 'Failed', {}, error)) }]
}

function stepOf(
  deps: LandscaperDeps,
  deployer: QuickDeployer | undefined,
  asked: Omit<ItemJob, 'deployer'>,
  isHosted: boolean,
): Step {
  const { object, jobID, now } = asked
  const taken = isHosted ? claimItem(object, jobID, now) : { object, begins: undefined }
  if (deployer === undefined || taken === undefined || !hasJob(object, { ...taken, jobID })) return { object }
  const { deleting } = targetView(object)
  const job = { ...asked, ...taken, deployer: deployer.name }
  if (deleting) return { object, job, write: releaseWrite(object) }
  const { patch, exports, failure } = nextStatus(deps, job, deployer)
  if (failure !== undefined) return retryStep(job, failure, patch)
  if (patch === undefined) return { object, job }
  const exported = exports && { object, name: exportName(deployer, object), content: exports }
  return { object, job, write: statusWrite(job, patch), ...(exported !== undefined && { exported }) }
}

interface NextStatus extends Pick<Step, 'failure'> {
  /** Undefined if the status is correct already. */
  readonly patch: Patch | undefined
  readonly exports?: QuickAnswer['exports']
}

function nextStatus(deps: LandscaperDeps, job: ItemJob, deployer: QuickDeployer): NextStatus {
  const { object } = job
  if (isUnchanged(job)) return { patch: unchangedStatus(job) }
  const wrong = timeoutProblem(object)
  if (wrong !== undefined) {
    return { patch: endedStatus(job, 'Failed', {}, { ...INVALID, message: wrong }) }
  }
  try {
    const config = deployer.parse(object)
    return isOverdue(job) ? timedOut(job, deployer) : answered(job, deployer, deployer.answer(object, config))
  } catch (error) {
    if (error instanceof DeployError) return { patch: endedStatus(job, 'Failed', {}, reportOf(error)) }
    if (isOverdue(job)) return timedOut(job, deployer)
    // A bug of the deployer is reported and retried until the item's timeout.
    const report = reportOf(internalProblem('Reconcile', object, error, deps.log))
    return { patch: failingStatus(job, report), failure: { code: report.reason, message: report.message } }
  }
}

const INVALID = { operation: 'Reconcile', reason: 'InvalidConfiguration', codes }

function timedOut(job: ItemJob, { name, checkpoint }: QuickDeployer): NextStatus {
  const message = `timeout at: "${name} deployer: ${checkpoint}"`
  const error = { operation: 'Reconcile', reason: 'ProgressingTimeout', message, codes: ['ERR_TIMEOUT'] }
  return { patch: endedStatus(job, 'Failed', {}, error) }
}

function answered(job: ItemJob, deployer: QuickDeployer, answer: QuickAnswer): NextStatus {
  const { phase, error, providerStatus, exports } = answer
  const { namespace } = job.object.metadata
  const fields = {
    ...(providerStatus !== undefined && { providerStatus }),
    ...(exports !== undefined && { exportRef: { name: exportName(deployer, job.object), namespace } }),
  }
  const exported = exports === undefined ? {} : { exports }
  if (FINAL_PHASES.includes(phase)) return { patch: endedStatus(job, phase, fields, error), ...exported }
  const isNew = isStarting(job) || itemStatus(job).phase !== phase
  return { patch: isNew ? pickedUpStatus(job, phase, fields) : undefined, ...exported }
}

function result(deps: LandscaperDeps, by: By, parts: readonly WrittenSteps[]): QuickItemsResult {
  const steps = parts.flatMap((part) => part.steps)
  const items = steps.filter((step) => step.write === undefined).map((step) => deployItemView(step.object, by, deps))
  const gone: string[] = []
  const failures: QuickItemsResult['failures'][number][] = steps.flatMap(({ object, failure }) =>
    failure === undefined ? [] : [{ object: object.metadata.name, code: failure.code, message: failure.message }],
  )
  for (const { step, answer } of parts.flatMap(({ written }) => written)) {
    const { name, uid } = step.object.metadata
    if (answer.result === 'failed') {
      failures.push({ object: name, code: answer.error.reason, message: answer.error.message })
    } else if (answer.result === 'gone' || isDeletedWithoutFinalizers(answer.object)) gone.push(uid)
    else items.push(deployItemView(answer.object, by, deps))
  }
  return { items, gone, failures }
}
