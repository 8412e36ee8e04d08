// Init: renders the blueprint's deploy items into the Execution. Source: spec/landscaper.md 2.3 "Init" 9.

import { done, type Outcome, stop } from '../kit/index.ts'
import type { InstallationPass } from './controller.ts'

export async function applyExecution(pass: InstallationPass): Promise<Outcome> {
  const { by, subject, jobID, act, draft, state } = pass
  const applied = await act.applyExecution({ by, subject, jobID, generation: state.target.generation })
  if (applied.result === 'waiting') return stop(applied.reason)
  pass.state = { ...state, execution: applied.execution }
  draft.observedGeneration = state.target.generation
  if (applied.execution !== undefined)
    draft.fields['executionRef'] = { name: subject.name, namespace: subject.namespace }
  return done
}
