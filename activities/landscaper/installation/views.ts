// What the Installation's workflow sees: states and flags. Blueprints and values stay here.

import {
  OPERATION_ANNOTATION,
  PAUSED_ANNOTATION,
  RENDERED_FROM_ANNOTATION,
} from '../../../workflows/landscaper/contract.ts'
import {
  CONTEXT_WAIT_CONDITION,
  hasLeftDependents,
  type Installation,
  installationKind,
  installationTrigger,
  WAIT_CONDITION,
} from '../../../workflows/landscaper/installation/kind.ts'
import { type Execution, executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import { isHandedDown, type PausableView } from '../../../workflows/landscaper/pause.ts'
import type { Subject, TargetView } from '../../../workflows/kit/index.ts'
import { isOwnedBy } from '../../kube/owners.ts'
import { targetView } from '../../kube/object-views.ts'
import { dataOf } from '../tenant-call.ts'
import type { LandscaperDeps } from '../deps.ts'
import { type ExecutionView, executionView } from '../execution/views.ts'
import { pausableView } from '../pauses.ts'
import { NO_TRUST } from '../trust.ts'
import { IGNORE_SUCCESSORS, interruptRequested, withoutUninstall } from '../requests.ts'
import { hasRequest } from '../../run/children.ts'
import { parentOf } from './parent.ts'
import { templateOf } from './sub-installation-objects.ts'

/** Of a sub-installation with what it failed of. */
export interface InstallationView extends TargetView, Failure, PausableView {
  readonly uid: string
  readonly name: string
  /** Why an idle Installation shall start a job; undefined when it shall not. */
  readonly trigger: string | undefined
  readonly reconcileRequested: boolean
  readonly interruptRequested: boolean
  readonly hasContext: boolean
  /** The status refers to an Execution: the blueprint has rendered items. */
  readonly hasExecution: boolean
  /** Something is to be exported. */
  readonly exports: boolean
  readonly withoutUninstall: boolean
  /** Of the last job that imported anything: copies of imports may be there. */
  readonly importsHash: string | undefined
  /** For whom it waits, as its status says. */
  readonly siblingWait?: string | undefined
  /** The Context that it waits for, as its status says. */
  readonly contextWait?: string | undefined
  /** It is a sub-installation: its jobs come from its parent. */
  readonly hasParent: boolean
  /** Of a sub-installation: the template that it was made of. */
  readonly template?: string | undefined
  /** It exports what siblings may import. */
  readonly gives?: boolean
  /** Siblings that import its exports have to go before it does. */
  readonly awaitsSuccessors: boolean
  /** The objects of the current blueprint's sub-installations, as the status says. */
  readonly activeSubs: readonly string[]
  /** What a parent has handed down to hold it back, in this job or another. */
  readonly heldBy?: string
  /** The end of an earlier job has left dependents to be asked. */
  readonly hasLeftDependents?: true
}

/** What the last job of a child failed of; nothing while it runs, and when it did not fail. */
interface Failure {
  /** Cut short. */
  readonly error?: string | undefined
  readonly codes?: readonly string[] | undefined
}

/** The Execution as its Installation hosts it. */
export interface ChildExecution extends ExecutionView, Failure {
  readonly uid: string
  /** What its items were rendered from. */
  readonly renderedFrom: RenderedFrom | undefined
}

/** @param trust for the subject of a run: without it no name is told as proven. */
export function installationView(object: Installation, trust = NO_TRUST): InstallationView {
  const { spec, status, metadata } = object
  return {
    ...targetView(object),
    uid: metadata.uid,
    name: metadata.name,
    trigger: installationTrigger(object),
    reconcileRequested: metadata.annotations?.[OPERATION_ANNOTATION] === 'reconcile',
    interruptRequested: interruptRequested(object),
    hasContext: (spec.context ?? '') !== '',
    hasExecution: status?.executionRef !== undefined,
    exports: hasExports(object),
    withoutUninstall: withoutUninstall(object),
    importsHash: status?.importsHash,
    siblingWait: waitOf(object, WAIT_CONDITION),
    contextWait: waitOf(object, CONTEXT_WAIT_CONDITION),
    hasParent: parentOf(object) !== undefined,
    template: templateOf(object),
    gives: gives(object),
    awaitsSuccessors: gives(object) && !hasRequest(object, IGNORE_SUCCESSORS),
    activeSubs: (status?.subInstCache?.activeSubs ?? []).map(({ objectName = '' }) => objectName),
    ...(hasLeftDependents(object) && { hasLeftDependents: true }),
    ...heldBy(object),
    ...pausableView(object, trust),
  }
}

/** A sub-installation as its parent sees it: without what only its own run needs, because there may be hundreds. */
export function subInstallationView(object: Installation): InstallationView {
  const view = installationView(object)
  return { ...view, finalizers: [], lastError: undefined, activeSubs: [], ...failureOf(view, object) }
}

function hasExports({ spec: { exports = {} } }: Installation): boolean {
  return (exports.data ?? []).length + (exports.targets ?? []).length > 0
}

function waitOf({ status }: Installation, wait: string): string | undefined {
  return (status?.conditions ?? []).find(({ type, status }) => type === wait && status === 'True')?.message
}

function heldBy({ metadata }: Installation): Pick<InstallationView, 'heldBy'> {
  const value = metadata.annotations?.[PAUSED_ANNOTATION] ?? ''
  return isHandedDown(value) ? { heldBy: value } : {}
}

function gives(object: Installation): boolean {
  return hasExports(object) && object.spec.optimization?.hasNoSiblingExports !== true
}

function failureOf(
  { phase, lastError }: Pick<TargetView, 'phase' | 'lastError'>,
  { status }: Installation | Execution,
): Failure {
  const hasFailed = phase === 'Failed' || phase === 'DeleteFailed'
  if (!hasFailed || lastError === undefined) return {}
  const codes = status?.lastError?.codes ?? []
  return { error: lastError.message.slice(0, LONGEST_ERROR), ...(codes.length > 0 && { codes }) }
}

// The whole of it stands in the Execution's own status.
const LONGEST_ERROR = 1000

/** The Execution of this Installation; undefined for one of the same name that belongs to somebody else. */
export async function childExecution(
  deps: LandscaperDeps,
  object: Execution | undefined,
  installation: Pick<Subject, 'uid' | 'namespace' | 'name'>,
): Promise<ChildExecution | undefined> {
  if (object === undefined || !isOwnedBy(object, installationKind, installation)) return undefined
  const view = await executionView(object, dataOf(deps, installation))
  return {
    ...view,
    uid: object.metadata.uid,
    renderedFrom: readRenderedFrom(object),
    ...failureOf(view, object),
  }
}

/** What the items of an Execution were rendered from. */
export interface RenderedFrom {
  readonly generation: number
  readonly importsHash: string | undefined
}

/** As an annotation's value. */
export function writtenRenderedFrom({ generation, importsHash }: RenderedFrom): string {
  return importsHash === undefined ? `${generation}` : `${generation} ${importsHash}`
}

function readRenderedFrom({ metadata }: Execution): RenderedFrom | undefined {
  const written = metadata.annotations?.[RENDERED_FROM_ANNOTATION] ?? ''
  const [, generation, importsHash] = /^(\d+)(?: (\S+))?$/.exec(written) ?? []
  return generation === undefined ? undefined : { generation: Number(generation), importsHash }
}

/** The Execution of an Installation for a write: it has the Installation's name. */
export function executionOf({ namespace, name }: Pick<Subject, 'namespace' | 'name'>, execution: ChildExecution) {
  return { ...execution, watched: executionKind, namespace, name }
}
