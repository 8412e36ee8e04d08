// The views of an Installation that workflows receive: states and flags, no blueprints or values.

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

/** For a sub-installation the view includes the error of its last job. */
export interface InstallationView extends TargetView, Failure, PausableView {
  readonly uid: string
  readonly name: string
  /** The reason to start a job when the Installation is idle; undefined without reason. */
  readonly trigger: string | undefined
  readonly reconcileRequested: boolean
  readonly interruptRequested: boolean
  readonly hasContext: boolean
  /** The status refers to an Execution: the blueprint has rendered items. */
  readonly hasExecution: boolean
  /** The spec lists exports. */
  readonly exports: boolean
  readonly withoutUninstall: boolean
  /** The hash of the last job with imports: copies of imports may exist. */
  readonly importsHash: string | undefined
  /** The siblings for which it waits, from its status. */
  readonly siblingWait?: string | undefined
  /** The Context for which it waits, from its status. */
  readonly contextWait?: string | undefined
  /** True for a sub-installation: its parent starts its jobs. */
  readonly hasParent: boolean
  /** The template of a sub-installation. */
  readonly template?: string | undefined
  /** It has exports that siblings may import. */
  readonly gives?: boolean
  /** Siblings that import its exports must be deleted before it. */
  readonly awaitsSuccessors: boolean
  /** The objects of the current blueprint's sub-installations, from the status. */
  readonly activeSubs: readonly string[]
  /** The pause annotation that a parent has set, in this job or another. */
  readonly heldBy?: string
  /** An earlier job ended before it had requested jobs of all dependents. */
  readonly hasLeftDependents?: true
}

/** The error of a child's last job; empty while it runs, or if it succeeded. */
interface Failure {
  /** Shortened. */
  readonly error?: string | undefined
  readonly codes?: readonly string[] | undefined
}

/** The Execution as its Installation hosts it. */
export interface ChildExecution extends ExecutionView, Failure {
  readonly uid: string
  /** The input from which its items were rendered. */
  readonly renderedFrom: RenderedFrom | undefined
}

/** @param trust for the subject of a run; without it all user names count as not verified. */
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

/** A sub-installation for its parent, without fields that only its own run needs, because a parent may have hundreds. */
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
  return { error: lastError.message.slice(0, MAX_ERROR_LENGTH), ...(codes.length > 0 && { codes }) }
}

// The Execution's own status has the whole message.
const MAX_ERROR_LENGTH = 1000

/** The Execution of this Installation; undefined if the Execution with its name has another owner. */
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

/** The input from which the items of an Execution were rendered. */
export interface RenderedFrom {
  readonly generation: number
  readonly importsHash: string | undefined
}

/** The annotation's value. */
export function writtenRenderedFrom({ generation, importsHash }: RenderedFrom): string {
  return importsHash === undefined ? `${generation}` : `${generation} ${importsHash}`
}

function readRenderedFrom({ metadata }: Execution): RenderedFrom | undefined {
  const written = metadata.annotations?.[RENDERED_FROM_ANNOTATION] ?? ''
  const [, generation, importsHash] = /^(\d+)(?: (\S+))?$/.exec(written) ?? []
  return generation === undefined ? undefined : { generation: Number(generation), importsHash }
}

/** The Execution of an Installation as the object of a write: it has the Installation's name. */
export function executionOf({ namespace, name }: Pick<Subject, 'namespace' | 'name'>, execution: ChildExecution) {
  return { ...execution, watched: executionKind, namespace, name }
}
