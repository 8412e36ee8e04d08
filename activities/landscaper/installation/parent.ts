import { type Installation, installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import { ownerOfKind } from '../../../workflows/kit/index.ts'

export interface Parent {
  readonly uid: string
  readonly name: string
}

/** The parent of a sub-installation, in its own namespace (spec/landscaper.md 2.1); undefined for a root. */
export function parentOf(installation: Pick<Installation, 'metadata'>): Parent | undefined {
  return ownerOfKind(installation, installationKind)
}
