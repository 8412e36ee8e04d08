// The spec of an Installation as the API server has it: its CRD has checked the types, nothing else.

import type { Installation } from '../../../workflows/landscaper/installation/kind.ts'

export type InstallationSpec = Installation['spec']
