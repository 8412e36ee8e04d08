// The spec of an Installation as the API server has it: its CRD has checked the types, nothing else.

import type { Installation } from '../../../workflows/landscaper/installation/kind.ts'

export type InstallationSpec = Installation['spec']

/** The component that it is of; undefined: of none. Landscaper leaves an empty one in sub-installations of none (v0.127.0). */
export function componentOf({
  componentDescriptor,
}: Pick<InstallationSpec, 'componentDescriptor'>): InstallationSpec['componentDescriptor'] {
  const { ref, inline } = componentDescriptor ?? {}
  return ref === undefined && inline === undefined ? undefined : componentDescriptor
}
