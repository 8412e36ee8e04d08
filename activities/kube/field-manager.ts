// The names under which the engine's writes stand in `managedFields` of objects.

import { type By, controllerInID } from '../../workflows/kit/index.ts'

/** What the field managers of all controllers begin with. */
export const FIELD_MANAGER_PREFIX = 'pawl-'

/** The name under which a controller's writes stand in `managedFields`. */
export function fieldManagerOf({ workflowID, controller }: Pick<By, 'workflowID' | 'controller'>): string {
  return `${FIELD_MANAGER_PREFIX}${controller ?? controllerInID(workflowID)}`
}
