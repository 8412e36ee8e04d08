// What people and parents ask of objects by annotations. Source: spec/landscaper.md 1.13.

import { DELETE_WITHOUT_UNINSTALL_ANNOTATION, OPERATION_ANNOTATION } from '../../workflows/landscaper/contract.ts'
import type { KubeObject } from '../kube/client.ts'

/** What was deployed stays when the object goes. */
export function withoutUninstall(object: KubeObject): boolean {
  return object.metadata.annotations?.[DELETE_WITHOUT_UNINSTALL_ANNOTATION] === 'true'
}

/** The job that runs shall end. Source: spec/landscaper.md 2.11. */
export function interruptRequested(object: KubeObject): boolean {
  return object.metadata.annotations?.[OPERATION_ANNOTATION] === 'interrupt'
}
