// Init: renders the blueprint's deploy items from the imports into the Execution; once in a job. Source: spec/landscaper.md 2.3 "Init" 4-11.

import { done, fail, interrupts, type Outcome, stop } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'
import { IMPORTS_CONDITION } from './kind.ts'
import { runExecution } from './run-execution.ts'

export async function applyExecution(pass: InstallationPass): Promise<Outcome> {
  const { by, subject, jobID, act, draft } = pass
  if (isRendered(pass)) return goOn(pass)
  const leaving = await letGo(pass)
  if (leaving !== undefined) return leaving
  const { state } = pass
  const applied = await act.applyExecution({ by, subject, jobID, generation: state.target.generation })
  if (applied.result === 'refused') {
    const { code, message } = applied
    draft.conditions.push({ type: IMPORTS_CONDITION, status: 'False', reason: 'ImportValidationFailed', message })
    return fail(code, message)
  }
  if (applied.result === 'waiting') return stop(applied.reason)
  pass.state = { ...state, execution: applied.execution, isEmpty: applied.execution === undefined }
  rendered(pass, applied.generation ?? state.target.generation, applied.importsHash)
  return done
}

/** Items of this job are there, so they stand: templates may be random, and imports may have been edited since. Not those that it takes away. */
function isRendered({ state: { execution, deployItems }, jobID }: InstallationPass): boolean {
  return execution !== undefined && !execution.deleting && deployItems.some((item) => item.jobID === jobID)
}

/** As it was when the items were rendered: a run that was lost since has not said so. */
function goOn(pass: InstallationPass): Outcome {
  const { target, execution } = pass.state
  const { generation, importsHash } = execution?.renderedFrom ?? target
  rendered(pass, generation, importsHash)
  return done
}

function rendered({ draft, state, subject }: InstallationPass, generation: number, importsHash?: string): void {
  draft.observedGeneration = generation
  if (state.execution !== undefined) draft.fields['executionRef'] = { name: subject.name, namespace: subject.namespace }
  // Without imports an earlier hash stays until Completing has removed the copies of that time.
  if (importsHash !== undefined) draft.fields['importsHash'] = importsHash
  if (!state.target.importsRefused) return
  const message = 'the imports are what the blueprint wants'
  draft.conditions.push({ type: IMPORTS_CONDITION, status: 'True', reason: 'ImportsSatisfied', message })
}

/** Our own Execution, deleted by hand, runs its deletion here; then it is made anew. */
async function letGo(pass: InstallationPass): Promise<Outcome | undefined> {
  if (pass.state.execution?.deleting !== true) return undefined
  const outcome = await runExecution(pass)
  if (interrupts(outcome)) return outcome
  const { state, subject, jobID } = pass
  const { execution } = state
  if (execution === undefined) return undefined
  return execution.jobIDFinished === jobID
    ? fail('UndeletedSubobjects', `execution ${subject.name} is ${execution.phase ?? 'unfinished'}; expected none`)
    : stop(`waiting for execution ${subject.name} to be gone`)
}
