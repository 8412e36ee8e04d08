// Reads the Installation of an activity call.

import { type Installation, installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import type { By, Subject } from '../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../deps.ts'
import { finalFailure } from '../../kube/errors.ts'
import { readSubject } from '../../kube/read-family.ts'
import { BlueprintError } from '../render/render-errors.ts'

export interface ObservedInstallation {
  readonly by: By
  readonly subject: Subject
  /** The generation that the pass observed. */
  readonly generation: number
}

/** The Installation as the pass observed it. @throws `Changed`, `NotFound`. */
export async function readInstallation(
  deps: LandscaperDeps,
  { by, subject, generation }: ObservedInstallation,
): Promise<Installation> {
  const installation = await readSubject(deps, installationKind, subject, by)
  const name = `installation "${subject.namespace}/${subject.name}"`
  if (installation === undefined) throw finalFailure('NotFound', `${name} is gone`)
  if (installation.metadata.generation !== generation) {
    throw finalFailure(
      'Changed',
      `${name} has generation ${installation.metadata.generation}; the pass observed ${generation}`,
    )
  }
  return installation
}

/** Converts a mistake of the blueprint's author to a final failure; returns other errors unchanged. */
export function userMistake(error: unknown): unknown {
  return error instanceof BlueprintError ? finalFailure(error.code, error.message) : error
}
