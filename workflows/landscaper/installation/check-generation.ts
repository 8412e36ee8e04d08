// Phase Completing: fails an Installation whose spec was edited during its job, because the edit needs another job.
// A deletion during the job also increments the generation, but does not change the spec, so it does not fail the job.
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
