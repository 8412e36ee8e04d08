// The spec of an Installation as the API server has it: its CRD has checked the types, nothing else.

import type { Installation } from '../../../workflows/landscaper/installation/kind.ts'
import type { KubeObject } from '../../kube/client.ts'

export type InstallationSpec = Partial<Installation['spec']>

/** The spec of an object that was read as an Installation. */
export function specOf(installation: KubeObject): InstallationSpec {
  return installation['spec'] ?? {}
}
