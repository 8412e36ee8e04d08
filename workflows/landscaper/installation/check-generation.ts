// Completing: an Installation that was edited while its job ran fails; the edit needs a job of its own.
// A deletion during the job counts the generation up by one too, but it changes no spec: the job ends as it would have.
// Source: spec/landscaper.md 2.3 "Completing" 2, 2.2 "Delete while a job runs".

import { done, fail, type Outcome } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'

export function checkGeneration({ state: { target }, draft }: InstallationPass): Outcome {
  const edits = target.generation - draft.observedGeneration - (target.deleting ? 1 : 0)
  if (edits <= 0) return done
  return fail(
    'CheckObservedGeneration',
    `the spec was changed during the job: generation ${target.generation}; the job started from ${draft.observedGeneration}`,
  )
}
