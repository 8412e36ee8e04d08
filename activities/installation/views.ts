// What the Installation's workflow sees: states and flags. Blueprints and values stay here.

import { OPERATION_ANNOTATION } from '../../workflows/deploy-item/kind.ts'
import { installationTrigger } from '../../workflows/installation/kind.ts'
import type { TargetView } from '../../workflows/kit/index.ts'
import type { KubeObject } from '../kube/client.ts'
import { ownerOf, targetView, withoutUninstall } from '../kube/views.ts'

export interface InstallationView extends TargetView {
  /** Why an idle Installation shall start a job; undefined when it shall not. */
  readonly trigger: string | undefined
  readonly reconcileRequested: boolean
  readonly hasContext: boolean
  /** Something is to be exported. */
  readonly exports: boolean
  readonly withoutUninstall: boolean
}

export interface ChildExecution {
  readonly uid: string
  readonly version: string
  readonly deleting: boolean
  readonly withoutUninstall: boolean
  readonly phase: string | undefined
  readonly jobID: string | undefined
  readonly jobIDFinished: string | undefined
}

interface InstallationSpec {
  readonly context?: string
  readonly exports?: { readonly data?: readonly unknown[]; readonly targets?: readonly unknown[] }
}

export function installationView(object: KubeObject): InstallationView {
  const spec = (object['spec'] ?? {}) as InstallationSpec
  return {
    ...targetView(object),
    trigger: installationTrigger(object),
    reconcileRequested: object.metadata.annotations?.[OPERATION_ANNOTATION] === 'reconcile',
    hasContext: (spec.context ?? '') !== '',
    exports: (spec.exports?.data ?? []).length + (spec.exports?.targets ?? []).length > 0,
    withoutUninstall: withoutUninstall(object),
  }
}

/** The Execution of this Installation; undefined for one of the same name that belongs to somebody else. */
export function childExecution(object: KubeObject | undefined, installationUid: string): ChildExecution | undefined {
  if (object === undefined || ownerOf(object)?.uid !== installationUid) return undefined
  const { version, deleting, phase, jobID, jobIDFinished } = targetView(object)
  return {
    uid: object.metadata.uid ?? '',
    version,
    deleting,
    withoutUninstall: withoutUninstall(object),
    phase,
    jobID,
    jobIDFinished,
  }
}
