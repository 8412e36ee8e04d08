// Maps events to the items that they concern, and an item's state to the run that it needs. The wakes of a hosted item go to the run that hosts it.
// Source: docs/concepts/architecture.md "Subjects and routes".

import { DEPLOY_CONTROLLER, MANAGED_BY_LABEL, OPERATION_ANNOTATION, RETRY_OPERATION } from '../contract.ts'
import {
  annotation,
  type ControllerRoutes,
  groupKindText,
  isIdle,
  isJobIDInvalid,
  isJobReplaced,
  jobIDProblem,
  jobIDsOf,
  label,
  path,
  INVALID_JOB_ID,
  type RoutedEvent,
  type Routing,
  textAt,
  valueAt,
  type RunRequest,
} from '../../kit/index.ts'
import { deletionRun, FIRST_SEEN, lacksFinalizer } from '../runs-without-parent.ts'
import { executionKind } from '../execution/kind.ts'
import { OPERATIONS, setsUnknownOperation, UNKNOWN_OPERATION, unknownOperationRun } from '../operation-warnings.ts'
import { BUILT_IN_TYPES } from './deployers.gen.ts'
import { deployItemKind } from './kind.ts'

export const deployRoutes: ControllerRoutes = {
  controller: DEPLOY_CONTROLLER,
  byKind: { [groupKindText(deployItemKind)]: fromDeployItem, [groupKindText(executionKind)]: fromExecution },
}

function fromDeployItem(event: RoutedEvent): Routing {
  const { projection, uid, namespace, name } = event
  const ids = jobIDsOf(projection)
  const subject = { controller: DEPLOY_CONTROLLER, uid, namespace, name }
  if (event.type === 'DELETED') return { routes: [{ ...subject, mode: 'notify', cause: 'deleted' }] }
  if (!isIdle(ids)) {
    if (!isOfBuiltInType(projection)) return { ignored: FOREIGN }
    return { routes: [{ ...subject, mode: 'start', cause: 'job ID in its status' }] }
  }
  // The dispatcher resolves whether the Execution is gone.
  if (isDeleting(projection)) return { routes: [{ ...subject, mode: 'start', cause: 'deletion' }] }
  if (isFirstSeen(projection)) return { routes: [{ ...subject, mode: 'start', cause: FIRST_SEEN.cause }] }
  if (isRetry(projection)) return { routes: [{ ...subject, mode: 'start', cause: RETRY }] }
  if (isJobIDInvalid(event) && isOfBuiltInType(projection))
    return { routes: [{ ...subject, mode: 'start', cause: INVALID_JOB_ID }] }
  if (isOfBuiltInType(projection) && setsUnknownOperation(event, OPERATIONS.deployItem))
    return { routes: [{ ...subject, mode: 'start', cause: UNKNOWN_OPERATION }] }
  return { ignored: jobIDProblem(ids.jobID) ?? 'deploy item is idle' }
}

// Items of a deleted Execution, or of one with another job, get their own runs. The end of an Execution's job needs no route: all its items have ended.
function fromExecution(event: RoutedEvent): Routing {
  const { type, uid, namespace, name } = event
  const items = { controller: DEPLOY_CONTROLLER, uid: '', dependentsOf: uid, namespace, name, mode: 'start' as const }
  if (type === 'DELETED') return { routes: [{ ...items, cause: 'execution gone' }] }
  if (isJobReplaced(event)) return { routes: [{ ...items, cause: 'execution has another job' }] }
  return { ignored: 'deploy items wait for the end of their execution only' }
}

/** The run that an item without host needs, or the reason why it needs none. `ownerGone`: no controller owner exists. */
export function deployItemRun(subject: object, ownerGone: boolean, ownerJob?: string): RunRequest {
  const ids = jobIDsOf(subject)
  if (!isIdle(ids)) {
    if (!isOfBuiltInType(subject)) return { none: FOREIGN }
    if (ids.jobID === ownerJob) return { none: 'its execution hosts it' }
    return { jobID: ids.jobID, cause: 'job ID in its status' }
  }
  if (isFirstSeen(subject)) return FIRST_SEEN
  if (isRetry(subject)) return ownerJob === undefined ? { jobID: undefined, cause: RETRY } : RETRY_WAITS
  if (!isDeleting(subject)) {
    const unknown = isOfBuiltInType(subject) ? unknownOperationRun(subject, OPERATIONS.deployItem) : undefined
    return unknown ?? { none: 'deploy item is idle' }
  }
  return deletionRun(subject, ownerGone, PARENT)
}

const PARENT = { name: 'execution', mark: label(MANAGED_BY_LABEL) } as const

const RETRY = 'retry annotation'
const RETRY_WAITS = { none: 'its retry begins when the job of its execution has ended' } as const

/** Whether a user requests a job for this item, of any type. */
function isRetry(item: object): boolean {
  return textAt(item, annotation(OPERATION_ANNOTATION)) === RETRY_OPERATION && !isDeleting(item)
}

const FOREIGN = 'deploy item is of a type that another deployer serves'

// Some worker deploys the type; the partition of the item selects the worker.
function isOfBuiltInType(item: object): boolean {
  return BUILT_IN_TYPES.has(textAt(item, path('spec.type')) ?? '')
}

function isDeleting(item: object): boolean {
  return valueAt(item, path('metadata.deletionTimestamp')) !== undefined
}

function isFirstSeen(item: object): boolean {
  return isOfBuiltInType(item) && lacksFinalizer(item, executionKind)
}
