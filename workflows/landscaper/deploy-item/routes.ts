// Which events concern a deploy group. Only a DeployItem's event may start one; its Execution's tell it that the job is over.
// Source: docs/architecture.md "Subjects and routes".

import {
  type ControllerRoutes,
  groupKindText,
  isIdle,
  jobIDsOf,
  ownerOfKind,
  jobIDProblem,
  path,
  type Route,
  type RoutedEvent,
  type Routing,
  textAt,
  valueAt,
  type WantedRun,
} from '../../kit/index.ts'
import { executionKind } from '../execution/kind.ts'
import { BUILT_IN_TYPES } from './deployers.gen.ts'
import { deployItemKind } from './kind.ts'

export const deployRoutes: ControllerRoutes = {
  controller: 'deploy',
  byKind: { [groupKindText(deployItemKind)]: fromDeployItem, [groupKindText(executionKind)]: fromExecution },
}

function fromDeployItem(event: RoutedEvent): Routing {
  const { projection } = event
  const ids = jobIDsOf(projection)
  const owner = ownerOfKind(projection, executionKind)
  const isDeleting = valueAt(projection, path('metadata.deletionTimestamp')) !== undefined
  const isOurs = BUILT_IN_TYPES.has(textAt(projection, path('spec.type')) ?? '')
  const group = owner ?? { uid: event.uid, name: event.name }
  const subject = { controller: 'deploy', uid: group.uid, namespace: event.namespace, name: group.name }

  if (event.type === 'DELETED') {
    return ids.jobID === undefined || !isOurs
      ? { ignored: 'deploy item is gone' }
      : { routes: [{ ...subject, jobID: ids.jobID, mode: 'notify', cause: 'item gone' }] }
  }
  if (!isIdle(ids)) {
    if (!isOurs) return { ignored: 'deploy item is of a type that another deployer serves' }
    const problem = jobIDProblem(ids.jobID)
    if (problem !== undefined) return { ignored: problem }
    return { routes: [{ ...subject, jobID: ids.jobID ?? '', mode: 'start', cause: `deploy item ${event.name}` }] }
  }
  const before = event.previous === undefined ? undefined : jobIDsOf(event.previous)
  if (isOurs && before?.jobID !== undefined && !isIdle(before))
    return { routes: [{ ...subject, jobID: before.jobID, mode: 'notify', cause: 'item finished' }] }
  // Whether its execution is gone is resolved when the wake is dispatched.
  if (isDeleting) return { routes: [orphanRoute(event)] }
  return { ignored: 'deploy item is idle' }
}

function orphanRoute(event: RoutedEvent): Route {
  return {
    controller: 'deploy',
    uid: event.uid,
    namespace: event.namespace,
    name: event.name,
    mode: 'start',
    cause: 'deletion',
  }
}

function fromExecution(event: RoutedEvent): Routing {
  const { jobID, jobIDFinished } = jobIDsOf(event.projection)
  const previous = event.previous === undefined ? undefined : jobIDsOf(event.previous)
  const subject = {
    controller: 'deploy',
    uid: event.uid,
    namespace: event.namespace,
    name: event.name,
    mode: 'notify' as const,
  }
  if (event.type === 'DELETED') {
    const gone: Route[] = [
      { ...subject, ...(jobID !== undefined && { jobID }), cause: 'execution gone' },
      {
        controller: 'deploy',
        uid: '',
        dependentsOf: event.uid,
        namespace: event.namespace,
        name: event.name,
        mode: 'start',
        cause: 'execution gone',
      },
    ]
    return { routes: gone }
  }
  const isFinishedNow = jobIDFinished !== undefined && jobIDFinished !== previous?.jobIDFinished
  if (isFinishedNow) return { routes: [{ ...subject, jobID: jobIDFinished, cause: 'execution finished' }] }
  const before = previous?.jobID
  // What had begun in it ends first, without its host.
  if (before !== undefined && before !== jobID)
    return { routes: [{ ...subject, jobID: before, mode: 'start', cause: 'job replaced' }] }
  return { ignored: 'deploy groups wait for the end of the job only' }
}

/** The run that an item without an execution asks for, or why none. */
export function deployItemRun(subject: object, ownerGone: boolean, ownerJob?: string): WantedRun {
  const ids = jobIDsOf(subject)
  if (!isIdle(ids) && ids.jobID === ownerJob) return { none: 'its execution hosts it' }
  if (!isIdle(ids))
    return ownerGone
      ? { jobID: ids.jobID, cause: 'job ID in its status' }
      : { none: 'the group of its execution serves it' }
  if (valueAt(subject, path('metadata.deletionTimestamp')) === undefined) return { none: 'deploy item is idle' }
  if (!ownerGone) return { none: 'deletion waits for the job ID of the execution' }
  return textAt(subject, path('status.phase')) === 'DeleteFailed'
    ? { none: 'deletion failed' }
    : { jobID: undefined, cause: 'deletion without owner' }
}
