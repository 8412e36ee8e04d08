// Looks up how the controller of a kind explains and steers its objects.

import {
  groupKindOf,
  groupKindText,
  type GroupKind,
  type JobInputs,
  type StatusExplanation,
  type WatchedKind,
} from '../../../workflows/kit/index.ts'
import { builtInRegistry } from '../../server/registry.ts'

const CONTROLLERS = new Map(
  [...builtInRegistry.controllers.values()].map((one) => [groupKindText(groupKindOf(one.target)), one] as const),
)

/** @param object the live object or its projection. @param namespaces the live Namespaces that it watches. */
export function explainStatus(kind: GroupKind, object: object, namespaces: readonly object[] = []): StatusExplanation {
  return CONTROLLERS.get(groupKindText(kind))?.explain?.(object, namespaces) ?? {}
}

/** True if the live object may tell more than the journal. */
export function isExplained(kind: GroupKind): boolean {
  return CONTROLLERS.get(groupKindText(kind))?.explain !== undefined
}

/** The API resource of a kind with a controller. */
export function resourceOfKind(kind: GroupKind): Pick<WatchedKind, 'apiVersion' | 'kind' | 'plural'> | undefined {
  return CONTROLLERS.get(groupKindText(kind))?.target
}

/** True for kinds with a controller in level mode: they have passes instead of jobs. */
export function isLevelKind(kind: GroupKind): boolean {
  return CONTROLLERS.get(groupKindText(kind))?.mode === 'level'
}

/**
 * True for an object whose controller is in level mode: of a built-in kind, or with a run without a job. The registry of
 * a command does not have the controllers of users.
 */
export function isInLevelMode({ object, job }: { readonly object: GroupKind; readonly job: RunOfObject }): boolean {
  return isLevelKind(object) || job?.jobID === ''
}

type RunOfObject = { readonly jobID: string } | undefined

/** The names of the partitions that workers can handle, such as types of items; undefined for kinds without partitions. */
export function partitionsOf(kind: GroupKind) {
  return CONTROLLERS.get(groupKindText(kind))?.partitions
}

/** The finalizer that Pawl's controller of the kind removes; undefined if it adds none. */
export function ownFinalizer(kind: GroupKind): string | undefined {
  const controller = CONTROLLERS.get(groupKindText(kind))
  return controller?.mode === 'job' ? controller.status.finalizer : controller?.finalizer
}

/** How objects of the kind depend on their siblings. */
export function siblingsOf(kind: GroupKind) {
  const controller = CONTROLLERS.get(groupKindText(kind))
  return controller?.mode === 'job' ? controller.siblings : undefined
}

/** How users control objects of the kind. */
export function steeringOf(kind: GroupKind) {
  const controller = CONTROLLERS.get(groupKindText(kind))
  return controller?.mode === 'job' ? controller.steering : undefined
}

/** The inputs of the kind's jobs; undefined for kinds without inputs. */
export function inputsOf(kind: GroupKind): JobInputs | undefined {
  const controller = CONTROLLERS.get(groupKindText(kind))
  return controller?.mode === 'job' ? controller.inputs : undefined
}
