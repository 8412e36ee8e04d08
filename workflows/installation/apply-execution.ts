// Init: renders the blueprint's deploy items into the Execution. Source: spec/landscaper.md 2.3 "Init" 9.

import { done, fail, type Outcome, stop } from '../kit/index.ts'
import type { InstallationPass } from './controller.ts'

export async function applyExecution(pass: InstallationPass): Promise<Outcome> {
  const { by, subject, jobID, act, draft, state } = pass
  const applied = await act.applyExecution({ by, subject, jobID, generation: state.target.generation })
  if (applied.result === 'waiting') return (await letGo(pass)) ?? stop(applied.reason)
  pass.state = { ...state, execution: applied.execution, isEmpty: applied.execution === undefined }
  draft.observedGeneration = state.target.generation
  if (applied.execution !== undefined)
    draft.fields['executionRef'] = { name: subject.name, namespace: subject.namespace }
  return done
}

/** Our own Execution, deleted by hand: it waits for a job ID, and this job for its end. */
async function letGo(pass: InstallationPass): Promise<Outcome | undefined> {
  const { by, subject, jobID, act, state } = pass
  const { execution } = state
  if (execution?.deleting !== true) return undefined
  if (execution.jobIDFinished === jobID)
    return fail('UndeletedSubobjects', `execution ${subject.name} is ${execution.phase ?? 'unfinished'}; expected none`)
  if (execution.jobID !== jobID)
    pass.state = { ...state, execution: await act.triggerExecution({ by, subject, jobID, execution }) }
  return undefined
}
