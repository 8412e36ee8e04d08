// Maps events to the Installations that they concern, and an Installation's state to the run that it needs.

import { IGNORE_ANNOTATION, OPERATION_ANNOTATION } from '../contract.ts'
import {
  annotation,
  type ControllerRoutes,
  groupKindText,
  isIdle,
  isJobIDInvalid,
  isJobReplaced,
  jobIDsOf,
  ownerOfKind,
  jobIDProblem,
  path,
  INVALID_JOB_ID,
  type Route,
  type RoutedEvent,
  type Routing,
  textAt,
  valueAt,
  type RunRequest,
} from '../../kit/index.ts'
import { executionKind } from '../execution/kind.ts'
import { automaticReconcile, resetCount } from './automatic-reconcile.ts'
import { OPERATIONS, setsUnknownOperation, UNKNOWN_OPERATION, unknownOperationRun } from '../operation-warnings.ts'
import { PAUSED_RUN, pauseReason, pauseReportRun } from '../pause.ts'
import { hasLeftDependents, installationKind, installationTrigger } from './kind.ts'

export const installationRoutes: ControllerRoutes = {
  controller: 'installation',
  byKind: { [groupKindText(installationKind)]: fromInstallation, [groupKindText(executionKind)]: fromExecution },
}

function fromInstallation(event: RoutedEvent): Routing {
  const own = ofItself(event)
  const ofParent = toParent(event, `sub-installation ${event.name}`)
  const orphaned = event.type === 'DELETED' ? [toSubInstallations(event)] : []
  const routes = [own, ofParent].flatMap((one) => ('routes' in one ? one.routes : []))
  return routes.length + orphaned.length > 0 ? { routes: [...routes, ...orphaned] } : own
}

function ofItself(event: RoutedEvent): Routing {
  const subject = { controller: 'installation', uid: event.uid, namespace: event.namespace, name: event.name }
  if (event.type === 'DELETED') return { routes: [{ ...subject, mode: 'notify', cause: 'deleted' }] }
  const ids = jobIDsOf(event.projection)
  // The dispatcher resolves whether the parent is gone.
  if (isIdle(ids) && isSubInstallation(event.projection) && isDeleting(event.projection))
    return { routes: [{ ...subject, mode: 'start', cause: 'deletion' }] }
  const run = installationRun(event.projection)
  if ('none' in run && isJobIDInvalid(event)) return { routes: [{ ...subject, mode: 'start', cause: INVALID_JOB_ID }] }
  if ('none' in run && setsUnknownOperation(event, OPERATIONS.installation))
    return { routes: [{ ...subject, mode: 'start', cause: UNKNOWN_OPERATION }] }
  if ('none' in run) return { ignored: jobIDProblem(ids.jobID) ?? run.none }
  return { routes: [{ ...subject, mode: 'start', cause: run.cause }] }
}

/** Sub-installations that are being deleted and have no parent get their own jobs. */
function toSubInstallations({ uid, namespace, name }: RoutedEvent): Route {
  const cause = 'parent gone'
  return { controller: 'installation', uid: '', dependentsOf: uid, namespace, name, mode: 'start', cause }
}

function fromExecution(event: RoutedEvent): Routing {
  return toParent(event, 'execution')
}

// Source: docs/concepts/architecture.md "Subjects and routes": the end and the deletion of a child. Also the loss of a handed-down job ID, which the parent
// hands down again.
function toParent(event: RoutedEvent, child: string): Routing {
  const owner = ownerOfKind(event.projection, installationKind)
  const before = event.previous && ownerOfKind(event.previous, installationKind)
  // The previous parent waits for a child that now has another owner.
  if (before !== undefined && before.uid !== owner?.uid) return notify(event, before, `${child} has another owner`)
  if (owner === undefined) return { ignored: `${child} has no installation` }
  const finished = path('status.jobIDFinished')
  const isFinishedNow = textAt(event.projection, finished) !== (event.previous && textAt(event.previous, finished))
  if (event.type === 'DELETED') return notify(event, owner, `${child} gone`)
  if (isFinishedNow) return notify(event, owner, `${child} finished`)
  if (isJobReplaced(event)) return notify(event, owner, `${child} has another job`)
  return isDeleting(event.projection)
    ? notify(event, owner, `${child} is being deleted`)
    : { ignored: 'installation waits for the end of its children only' }
}

function isDeleting(object: object): boolean {
  return valueAt(object, path('metadata.deletionTimestamp')) !== undefined
}

function isSubInstallation(object: object): boolean {
  return ownerOfKind(object, installationKind) !== undefined
}

function notify(
  { namespace }: RoutedEvent,
  { uid, name }: { readonly uid: string; readonly name: string },
  cause: string,
): Routing {
  return { routes: [{ controller: 'installation', uid, namespace, name, mode: 'notify', cause }] }
}

/** The run that an Installation's state needs (jobID undefined: a new job), or the reason why it needs none. `ownerGone`: no parent exists. */
export function installationRun(subject: object, ownerGone = false): RunRequest {
  const ids = jobIDsOf(subject)
  if (!isIdle(ids)) return { jobID: ids.jobID, cause: 'unfinished job' }
  const wanted = isSubInstallation(subject) ? runOfSub(subject, ownerGone) : runOfRoot(subject)
  if (!('none' in wanted)) return wanted
  return pauseReportRun(subject) ?? unknownOperationRun(subject, OPERATIONS.installation) ?? wanted
}

function runOfRoot(subject: object): RunRequest {
  const trigger = installationTrigger(subject)
  if (trigger !== undefined) return { jobID: undefined, cause: trigger, ...resetCount(subject) }
  if (pauseReason(subject) !== undefined) return PAUSED_RUN
  return automaticRun(subject) ?? { none: 'installation is idle and not triggered' }
}

/** A run that only triggers the dependents that Landscaper's last job left. */
const LEFT_DEPENDENTS = { jobID: undefined, cause: 'dependents left to start', isJobless: true } as const

// Another operation and the ignore annotation have priority. An interrupt on an idle object belongs to a job that has ended.
function automaticRun(subject: object): RunRequest | undefined {
  const operation = valueAt(subject, annotation(OPERATION_ANNOTATION))
  const isFree =
    textAt(subject, annotation(IGNORE_ANNOTATION)) !== 'true' && (operation === undefined || operation === 'interrupt')
  if (isFree && hasLeftDependents(subject)) return LEFT_DEPENDENTS
  const automatic = isFree ? automaticReconcile(subject) : undefined
  return automatic === undefined || 'none' in automatic ? automatic : { jobID: undefined, ...automatic }
}

function runOfSub(subject: object, ownerGone: boolean): RunRequest {
  if (!isDeleting(subject)) return { none: 'the jobs of a sub-installation come from its parent' }
  if (!ownerGone) return { none: 'deletion waits for the job ID of the parent' }
  if (pauseReason(subject) !== undefined) return PAUSED_RUN
  // Like a root: after a failure, the user requests the next job.
  if (textAt(subject, annotation(OPERATION_ANNOTATION)) === 'reconcile')
    return { jobID: undefined, cause: 'reconcile annotation' }
  return textAt(subject, path('status.phase')) === 'DeleteFailed'
    ? { none: 'deletion failed' }
    : { jobID: undefined, cause: 'deletion without parent' }
}
