// The requests that users and parents make by annotations. Source: spec/landscaper.md 1.13.

import {
  DELETE_IGNORE_SUCCESSORS_ANNOTATION,
  DELETE_WITHOUT_UNINSTALL_ANNOTATION,
  OPERATION_ANNOTATION,
  RETRY_OPERATION,
} from '../../workflows/landscaper/contract.ts'
import type { KubeObject } from '../kube/client.ts'
import { hasRequest, type AnnotationRequest } from '../run/children.ts'

/** Starts a job, or the next one. Source: spec/landscaper.md 2.2. */
export const RECONCILE: AnnotationRequest = { annotation: OPERATION_ANNOTATION, value: 'reconcile' }

/** For an item: starts a job of this item alone. */
export const RETRY: AnnotationRequest = { annotation: OPERATION_ANNOTATION, value: RETRY_OPERATION }

/** Ends the running job. Source: spec/landscaper.md 2.11. */
export const INTERRUPT: AnnotationRequest = { annotation: OPERATION_ANNOTATION, value: 'interrupt' }

/** Keeps the deployed objects when the Landscaper object is deleted. Source: spec/landscaper.md 2.4. */
export const WITHOUT_UNINSTALL: AnnotationRequest = { annotation: DELETE_WITHOUT_UNINSTALL_ANNOTATION, value: 'true' }

/** Deletes an Installation without waiting for siblings that import its exports. Source: spec/landscaper.md 2.4. */
export const IGNORE_SUCCESSORS: AnnotationRequest = { annotation: DELETE_IGNORE_SUCCESSORS_ANNOTATION, value: 'true' }

/** Whether the deployed objects stay when the object is deleted. */
export function withoutUninstall(object: KubeObject): boolean {
  return hasRequest(object, WITHOUT_UNINSTALL)
}

/** Whether the running job must end. Source: spec/landscaper.md 2.11. */
export function interruptRequested(object: KubeObject): boolean {
  return hasRequest(object, INTERRUPT)
}
