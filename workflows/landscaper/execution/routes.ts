// Maps events to the Executions that they concern, and an Execution's state to the run that it needs.

import { RENDERED_FROM_ANNOTATION, SKIP_ANNOTATION } from '../contract.ts'
import {
  annotation,
  type ControllerRoutes,
  groupKindText,
  isIdle,
  isJobIDInvalid,
  isJobReplaced,
  jobIDProblem,
  jobIDsOf,
  ownerOfKind,
  path,
  INVALID_JOB_ID,
  type RoutedEvent,
  type Routing,
  valueAt,
  type RunRequest,
  writeJson,
} from '../../kit/index.ts'
import { deletionRun, FIRST_SEEN, lacksFinalizer } from '../runs-without-parent.ts'
import { deployItemKind } from '../deploy-item/kind.ts'
import { installationKind } from '../installation/kind.ts'
import { PAUSED_RUN, pauseReason, pauseReportRun } from '../pause.ts'
import { OPERATIONS, setsUnknownOperation, UNKNOWN_OPERATION, unknownOperationRun } from '../operation-warnings.ts'
import { executionKind } from './kind.ts'

export const executionRoutes: ControllerRoutes = {
  controller: 'execution',
  byKind: {
    [groupKindText(executionKind)]: fromExecution,
    [groupKindText(deployItemKind)]: fromDeployItem,
    [groupKindText(installationKind)]: fromInstallation,
  },
}

function fromExecution(event: RoutedEvent): Routing {
  const subject = { controller: 'execution', uid: event.uid, namespace: event.namespace, name: event.name }
  if (event.type === 'DELETED') return { routes: [{ ...subject, mode: 'notify', cause: 'deleted' }] }
  const ids = jobIDsOf(event.projection)
  if (!isIdle(ids)) {
    return { routes: [{ ...subject, mode: 'start', cause: 'job ID in its status' }] }
  }
  // The dispatcher resolves whether the owner is gone.
  if (valueAt(event.projection, path('metadata.deletionTimestamp')) !== undefined)
    return { routes: [{ ...subject, mode: 'start', cause: 'deletion' }] }
  if (lacksFinalizer(event.projection, installationKind))
    return { routes: [{ ...subject, mode: 'start', cause: FIRST_SEEN.cause }] }
  const tells = pauseReportRun(event.projection)
  if (tells !== undefined && 'cause' in tells) return { routes: [{ ...subject, mode: 'start', cause: tells.cause }] }
  if (isJobIDInvalid(event)) return { routes: [{ ...subject, mode: 'start', cause: INVALID_JOB_ID }] }
  if (setsUnknownOperation(event, OPERATIONS.execution))
    return { routes: [{ ...subject, mode: 'start', cause: UNKNOWN_OPERATION }] }
  return { ignored: jobIDProblem(ids.jobID) ?? 'execution is idle' }
}

function fromDeployItem(event: RoutedEvent): Routing {
  const owner = ownerOfKind(event.projection, executionKind)
  const before = event.previous && ownerOfKind(event.previous, executionKind)
  // The previous Execution waits for an item that now has another owner.
  if (before !== undefined && before.uid !== owner?.uid) {
    const subject = { controller: 'execution', uid: before.uid, namespace: event.namespace, name: before.name }
    return { routes: [{ ...subject, mode: 'notify', cause: `deploy item ${event.name} has another owner` }] }
  }
  const ids = jobIDsOf(event.projection)
  if (owner === undefined) return { ignored: jobIDProblem(ids.jobID) ?? 'deploy item has no execution' }
  const subject = { controller: 'execution', uid: owner.uid, namespace: event.namespace, name: owner.name }
  if (event.type === 'DELETED')
    return { routes: [{ ...subject, mode: 'notify', cause: `deploy item ${event.name} gone` }] }
  const change = decisiveChange(event)
  return 'none' in change
    ? { ignored: change.none }
    : { routes: [{ ...subject, mode: 'notify', cause: `deploy item ${event.name} ${change.cause}` }] }
}

const SKIP = annotation(SKIP_ANNOTATION)
const DECISIVE = [
  ...['status.jobIDFinished', 'status.jobID', 'status.phase', 'metadata.deletionTimestamp', 'metadata.finalizers'].map(
    path,
  ),
  SKIP,
]

/** Whether an item's event changes a field on which its Execution decides. */
function decisiveChange(event: RoutedEvent): { readonly cause: string } | { readonly none: string } {
  const { projection, previous } = event
  const isChanged = (at: (typeof DECISIVE)[number]) =>
    writeJson(valueAt(projection, at)) !== writeJson(previous && valueAt(previous, at))
  if (!DECISIVE.some(isChanged)) return { none: 'nothing of the deploy item that its execution decides on changed' }
  if (isJobReplaced(event)) return { cause: 'has another job' }
  if (isChanged(SKIP)) return { cause: 'is left out, or not any more' }
  if (!isIdle(jobIDsOf(projection)) && !isChanged(path('status.jobIDFinished')))
    return { none: 'deploy item is unfinished' }
  return { cause: 'finished' }
}

function fromInstallation(event: RoutedEvent): Routing {
  if (event.type !== 'DELETED') return { ignored: 'executions wait for their job ID, not for their installation' }
  return {
    routes: [
      {
        controller: 'execution',
        uid: '',
        dependentsOf: event.uid,
        namespace: event.namespace,
        name: event.name,
        mode: 'start',
        cause: 'installation gone',
      },
    ],
  }
}

/** The run that an Execution's state needs, or the reason why it needs none. `ownerGone`: no controller owner exists. */
export function executionRun(subject: object, ownerGone: boolean, ownerJob?: string): RunRequest {
  const ids = jobIDsOf(subject)
  if (!isIdle(ids) && ids.jobID === ownerJob) return { none: 'its installation hosts it' }
  if (!isIdle(ids)) return { jobID: ids.jobID, cause: 'job ID in its status' }
  if (lacksFinalizer(subject, installationKind)) return FIRST_SEEN
  const wanted = idleRun(subject, ownerGone)
  return 'none' in wanted ? (pauseReportRun(subject) ?? wanted) : wanted
}

const PARENT = { name: 'installation', mark: annotation(RENDERED_FROM_ANNOTATION) } as const

function idleRun(subject: object, ownerGone: boolean): RunRequest {
  if (valueAt(subject, path('metadata.deletionTimestamp')) === undefined)
    return unknownOperationRun(subject, OPERATIONS.execution) ?? { none: 'execution is idle' }
  return pauseReason(subject) === undefined ? deletionRun(subject, ownerGone, PARENT) : PAUSED_RUN
}
