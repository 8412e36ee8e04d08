// Which events concern an Installation, and which run its state asks for.

import {
  type ControllerRoutes,
  groupKindText,
  isIdle,
  isJobIDRefused,
  isJobTaken,
  jobIDsOf,
  ownerOfKind,
  jobIDProblem,
  path,
  REFUSED_ID,
  type RoutedEvent,
  type Routing,
  textAt,
  valueAt,
  type WantedRun,
} from '../../kit/index.ts'
import { executionKind } from '../execution/kind.ts'
import { installationKind, installationTrigger } from './kind.ts'

export const installationRoutes: ControllerRoutes = {
  controller: 'installation',
  byKind: { [groupKindText(installationKind)]: fromInstallation, [groupKindText(executionKind)]: fromExecution },
}

function fromInstallation(event: RoutedEvent): Routing {
  const subject = { controller: 'installation', uid: event.uid, namespace: event.namespace, name: event.name }
  if (event.type === 'DELETED') return { routes: [{ ...subject, mode: 'notify', cause: 'deleted' }] }
  const run = installationRun(event.projection)
  if ('none' in run && isJobIDRefused(event)) return { routes: [{ ...subject, mode: 'start', cause: REFUSED_ID }] }
  if ('none' in run) return { ignored: jobIDProblem(jobIDsOf(event.projection).jobID) ?? run.none }
  return { routes: [{ ...subject, mode: 'start', cause: run.cause }] }
}

// Source: docs/architecture.md "Subjects and routes": only its end and its deletion; and that a hand has taken its job away, which is handed out again.
function fromExecution(event: RoutedEvent): Routing {
  const owner = ownerOfKind(event.projection, installationKind)
  const before = event.previous && ownerOfKind(event.previous, installationKind)
  // An Execution that was taken away is missing for the one that waits for it.
  if (before !== undefined && before.uid !== owner?.uid) return notify(event, before, 'execution has another owner')
  if (owner === undefined) return { ignored: 'execution has no installation' }
  const finished = path('status.jobIDFinished')
  const isFinishedNow = textAt(event.projection, finished) !== (event.previous && textAt(event.previous, finished))
  const isLeaving = valueAt(event.projection, path('metadata.deletionTimestamp')) !== undefined
  if (event.type === 'DELETED') return notify(event, owner, 'execution gone')
  if (isFinishedNow) return notify(event, owner, 'execution finished')
  if (isJobTaken(event)) return notify(event, owner, 'execution has another job')
  return isLeaving
    ? notify(event, owner, 'execution is being deleted')
    : { ignored: 'installation waits for the end of its execution only' }
}

function notify(
  { namespace }: RoutedEvent,
  { uid, name }: { readonly uid: string; readonly name: string },
  cause: string,
): Routing {
  return { routes: [{ controller: 'installation', uid, namespace, name, mode: 'notify', cause }] }
}

/** The run that an Installation's state asks for (jobID undefined: a new one), or why none. */
export function installationRun(subject: object): WantedRun {
  const ids = jobIDsOf(subject)
  if (!isIdle(ids)) return { jobID: ids.jobID, cause: 'unfinished job' }
  const trigger = installationTrigger(subject)
  return trigger === undefined
    ? { none: 'installation is idle and not triggered' }
    : { jobID: undefined, cause: trigger }
}
