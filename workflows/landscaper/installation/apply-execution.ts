// Init: renders the blueprint's deploy items from the imports into the Execution. Source: spec/landscaper.md 2.3 "Init" 4-11.

import { done, fail, type Outcome, stop } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'
import { IMPORTS_CONDITION } from './kind.ts'

export async function applyExecution(pass: InstallationPass): Promise<Outcome> {
  const { by, subject, jobID, act, draft, state } = pass
  const applied = await act.applyExecution({ by, subject, jobID, generation: state.target.generation })
  if (applied.result === 'refused') {
    const { code, message } = applied
    draft.conditions.push({ type: IMPORTS_CONDITION, status: 'False', reason: 'ImportValidationFailed', message })
    return fail(code, message)
  }
  if (applied.result === 'waiting') return (await letGo(pass)) ?? stop(applied.reason)
  pass.state = { ...state, execution: applied.execution, isEmpty: applied.execution === undefined }
  draft.observedGeneration = state.target.generation
  if (applied.execution !== undefined)
    draft.fields['executionRef'] = { name: subject.name, namespace: subject.namespace }
  // Without imports an earlier hash stays until Completing has removed the copies of that time.
  if (applied.importsHash !== undefined) draft.fields['importsHash'] = applied.importsHash
  if (state.target.importsRefused) {
    const message = 'the imports are what the blueprint wants'
    draft.conditions.push({ type: IMPORTS_CONDITION, status: 'True', reason: 'ImportsSatisfied', message })
  }
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
