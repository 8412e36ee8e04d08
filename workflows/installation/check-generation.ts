// Completing: an Installation that was edited while its job ran fails; the edit needs a job of its own.
// Source: spec/landscaper.md 2.3 "Completing" 2.

import { done, fail, type Outcome } from '../kit/index.ts'
import type { InstallationPass } from './controller.ts'

export function checkGeneration({ state: { target }, draft }: InstallationPass): Outcome {
  if (target.generation === draft.observedGeneration) return done
  return fail(
    'CheckObservedGeneration',
    `the spec was changed during the job: generation ${target.generation}; the job started from ${draft.observedGeneration}`,
  )
}
