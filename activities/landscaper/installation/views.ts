// What the Installation's workflow sees: states and flags. Blueprints and values stay here.

import { OPERATION_ANNOTATION } from '../../../workflows/landscaper/contract.ts'
import {
  type Installation,
  IMPORTS_CONDITION,
  installationKind,
  installationTrigger,
} from '../../../workflows/landscaper/installation/kind.ts'
import { type Execution, executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import type { Subject, TargetView } from '../../../workflows/kit/index.ts'
import { isOwnedBy } from '../../kube/owners.ts'
import { targetView } from '../../kube/views.ts'
import { interruptRequested, withoutUninstall } from '../requests.ts'

export interface InstallationView extends TargetView {
  /** Why an idle Installation shall start a job; undefined when it shall not. */
  readonly trigger: string | undefined
  readonly reconcileRequested: boolean
  readonly interruptRequested: boolean
  readonly hasContext: boolean
  /** Something is to be exported. */
  readonly exports: boolean
  readonly withoutUninstall: boolean
  /** Of the last job that imported anything: copies of imports may be there. */
  readonly importsHash: string | undefined
  /** The condition of the imports says that they were refused. */
  readonly importsRefused: boolean
}

export interface ChildExecution {
  readonly uid: string
  readonly version: string
  readonly deleting: boolean
  readonly withoutUninstall: boolean
  readonly interruptRequested: boolean
  readonly phase: string | undefined
  readonly jobID: string | undefined
  readonly jobIDFinished: string | undefined
  /** What its last job failed of, cut short; undefined while it runs, and when it did not fail. */
  readonly error?: string | undefined
}

export function installationView(object: Installation): InstallationView {
  const { spec, status } = object
  return {
    ...targetView(object),
    trigger: installationTrigger(object),
    reconcileRequested: object.metadata.annotations?.[OPERATION_ANNOTATION] === 'reconcile',
    interruptRequested: interruptRequested(object),
    hasContext: (spec.context ?? '') !== '',
    exports: (spec.exports?.data ?? []).length + (spec.exports?.targets ?? []).length > 0,
    withoutUninstall: withoutUninstall(object),
    importsHash: status?.importsHash,
    importsRefused: (status?.conditions ?? []).some(
      ({ type, status }) => type === IMPORTS_CONDITION && status === 'False',
    ),
  }
}

// The whole of it stands in the Execution's own status.
const LONGEST_ERROR = 1000

/** The Execution of this Installation; undefined for one of the same name that belongs to somebody else. */
export function childExecution(
  object: Execution | undefined,
  installation: Pick<Subject, 'uid' | 'namespace'>,
): ChildExecution | undefined {
  if (object === undefined || !isOwnedBy(object, installationKind, installation)) return undefined
  const { version, deleting, phase, jobID, jobIDFinished, lastError } = targetView(object)
  const hasFailed = phase === 'Failed' || phase === 'DeleteFailed'
  return {
    uid: object.metadata.uid,
    version,
    deleting,
    withoutUninstall: withoutUninstall(object),
    interruptRequested: interruptRequested(object),
    phase,
    jobID,
    jobIDFinished,
    error: hasFailed ? lastError?.message.slice(0, LONGEST_ERROR) : undefined,
  }
}

/** The Execution of an Installation for a write: it has the Installation's name. */
export function executionOf({ namespace, name }: Pick<Subject, 'namespace' | 'name'>, execution: ChildExecution) {
  return { ...execution, watched: executionKind, namespace, name }
}
