// Which events concern an Installation, and which run its state asks for.

import {
  type ControllerRoutes,
  isIdle,
  jobIDProblem,
  path,
  type Projection,
  type RoutedEvent,
  type Routing,
  textAt,
  valueAt,
} from '../kit/index.ts'
import { installationTrigger } from './kind.ts'

export const installationRoutes: ControllerRoutes = {
  controller: 'installation',
  byKind: { Installation: fromInstallation, Execution: fromExecution },
}

function fromInstallation(event: RoutedEvent): Routing {
  const subject = { controller: 'installation', uid: event.uid, namespace: event.namespace, name: event.name }
  if (event.type === 'DELETED') return { routes: [{ ...subject, mode: 'notify', cause: 'deleted' }] }
  const run = installationRun(event.projection)
  if ('none' in run) return { ignored: run.none }
  const problem = jobIDProblem(run.jobID)
  if (problem !== undefined) return { ignored: problem }
  return { routes: [{ ...subject, mode: 'start', cause: run.cause }] }
}

// Source: design.md "Subjects and routes": only its end and its deletion.
function fromExecution(event: RoutedEvent): Routing {
  const owners = (valueAt(event.projection, path('metadata.ownerReferences')) ?? []) as {
    kind: string
    uid: string
    name: string
  }[]
  const owner = owners.find(({ kind }) => kind === 'Installation')
  if (owner === undefined) return { ignored: 'execution has no installation' }
  const finished = path('status.jobIDFinished')
  const isFinishedNow = textAt(event.projection, finished) !== (event.previous && textAt(event.previous, finished))
  const isLeaving =
    event.type === 'DELETED' || valueAt(event.projection, path('metadata.deletionTimestamp')) !== undefined
  if (!isFinishedNow && !isLeaving) return { ignored: 'installation waits for the end of its execution only' }
  const cause =
    event.type === 'DELETED' ? 'execution gone' : isFinishedNow ? 'execution finished' : 'execution is being deleted'
  return {
    routes: [
      {
        controller: 'installation',
        uid: owner.uid,
        namespace: event.namespace,
        name: owner.name,
        mode: 'notify',
        cause,
      },
    ],
  }
}

/** The run that an Installation's state asks for (jobID undefined: a new one), or why none. */
export function installationRun(
  projection: Projection,
): { readonly jobID: string | undefined; readonly cause: string } | { readonly none: string } {
  const ids = {
    jobID: textAt(projection, path('status.jobID')),
    jobIDFinished: textAt(projection, path('status.jobIDFinished')),
  }
  if (!isIdle(ids)) return { jobID: ids.jobID, cause: 'running job' }
  const trigger = installationTrigger(projection)
  return trigger === undefined
    ? { none: 'installation is idle and not triggered' }
    : { jobID: undefined, cause: trigger }
}
