// The kinds that activities read and write, by name.

import { dataObjectKind } from '../../workflows/landscaper/data-object/kind.ts'
import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import { targetKind } from '../../workflows/landscaper/target/kind.ts'
import type { WatchedKind } from '../../workflows/kit/index.ts'

const KINDS: readonly WatchedKind[] = [installationKind, executionKind, deployItemKind, dataObjectKind, targetKind]

/** The definition of a kind that the engine writes. @throws a plain Error (a bug) for any other name. */
export function watchedKind(kind: string): WatchedKind {
  const found = KINDS.find((one) => one.kind === kind)
  if (found === undefined)
    throw new Error(`kind ${kind} is not known; expected one of ${KINDS.map((one) => one.kind).join(', ')}`)
  return found
}
