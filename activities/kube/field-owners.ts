// Whose a field of a status is, by what the API server keeps of it (`managedFields`).

import type { ObjectMeta } from './client.ts'
import { FIELD_MANAGER_PREFIX } from './field-manager.ts'

/** Whether somebody else than the engine has written what stands there. What nobody is known for counts as the engine's. */
export function isWrittenByOthers({ metadata }: { readonly metadata: object }, field: string): boolean {
  const { managedFields = [] } = metadata as Pick<ObjectMeta, 'managedFields'>
  const owners = managedFields.filter(({ fieldsV1 }) => fieldsV1?.['f:status']?.[`f:${field}`] !== undefined)
  return owners.length > 0 && !owners.some(({ manager = '' }) => manager.startsWith(FIELD_MANAGER_PREFIX))
}
