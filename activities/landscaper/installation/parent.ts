// Whose sub-installation an Installation is. Source: spec/landscaper.md 2.1: everything of a tree lives in one namespace.

import { type Installation, installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import { ownerOfKind } from '../../../workflows/kit/index.ts'

export interface Parent {
  readonly uid: string
  readonly name: string
}

/** Undefined: it is a root. */
export function parentOf(installation: Pick<Installation, 'metadata'>): Parent | undefined {
  return ownerOfKind(installation, installationKind)
}
