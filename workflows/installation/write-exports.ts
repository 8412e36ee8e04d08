// Completing: publishes what spec.exports lists. Source: spec/landscaper.md 2.3 "Completing" 3 and 4.

import { done, type Outcome } from '../kit/index.ts'
import type { InstallationPass } from './controller.ts'

export async function writeExports({ by, subject, jobID, act, state: { target } }: InstallationPass): Promise<Outcome> {
  if (target.exports) await act.writeExports({ by, subject, jobID, generation: target.generation })
  return done
}
