// Phases Progressing and Completing: waits until the Execution and all sub-installations have finished this job, also after one has failed, and then
// checks that the spec was not edited meanwhile. Source: spec/landscaper.md 2.3 "Progressing".

import { done, fail, type Outcome, stop } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'
import { SUB_INSTALLATIONS_CONDITION } from './kind.ts'
import { shortList } from '../short-list.ts'
import { childCodes, formatNames, formatPhase, formatSub } from './sub-installations.ts'

export function awaitChildren(pass: InstallationPass): Outcome {
  const { state, jobID, subject } = pass
  const { execution } = state
  // An Execution with another job ID has not started this job. A sub-installation with another job ID does not count as a
  // child of this job: `subFailures` reports it as missing.
  const isUnfinished = execution !== undefined && (execution.jobID !== jobID || execution.jobIDFinished !== jobID)
  const subs = state.subInstallations.filter((sub) => sub.jobID === jobID)
  const unfinished = subs.filter((sub) => sub.jobIDFinished !== jobID)
  if (isUnfinished || unfinished.length > 0) {
    const waitedFor = [
      ...(isUnfinished ? [`Execution "${subject.name}"`] : []),
      ...(unfinished.length > 0 ? [`sub-installations ${formatNames(unfinished)}`] : []),
    ]
    return stop(`waiting for ${waitedFor.join(' and ')}`)
  }
  if (execution === undefined && isExecutionWanted(pass))
    return fail(
      'ExecutionMissing',
      `Execution "${subject.name}" was deleted during the job; reconcile to create it again`,
    )
  const failures = [...executionFailures(pass), ...subFailures(pass)]
  return failures.length === 0
    ? done
    : fail('ChildrenFailed', shortList(failures).join(' | '), childCodes(execution, subs))
}

/** Whether the blueprint has an Execution: from `executionRef` in the unwritten changes of this pass, otherwise in the status. */
function isExecutionWanted({ draft, state: { target } }: InstallationPass): boolean {
  const executionRef = draft.fields['executionRef']
  return executionRef === undefined ? target.hasExecution : executionRef !== null
}

function executionFailures({ state: { execution }, subject }: InstallationPass): string[] {
  if (execution === undefined || execution.phase === 'Succeeded') return []
  const failure = `Execution "${subject.name}" ${formatPhase(execution.phase)}`
  return [execution.error === undefined ? failure : `${failure}: ${execution.error}`]
}

/** Also sets the condition of the sub-installations if some are missing. */
function subFailures({ state, jobID, draft }: InstallationPass): string[] {
  const wanted = state.wantedSubs?.map(({ name }) => name) ?? state.target.activeSubs
  const subs = state.subInstallations.filter((sub) => sub.jobID === jobID)
  const existing = new Set(subs.map(({ name }) => name))
  const failed = subs.filter((sub) => sub.phase !== 'Succeeded')
  const missing = wanted.filter((name) => !existing.has(name))
  if (missing.length > 0) {
    const message = `sub-installations were deleted during the job: ${shortList(missing).join(', ')}; reconcile to create them again`
    const type = SUB_INSTALLATIONS_CONDITION
    draft.conditions.push({ type, status: 'False', reason: 'SubInstallationsNotFound', message })
  }
  return [
    ...failed.map(formatSub),
    ...missing.map((name) => `Installation "${name}" was deleted during the job; reconcile to create it again`),
  ]
}

/**
 * Phase Completing: fails an Installation whose spec was edited during its job, because the edit needs another job. A
 * deletion during the job also increments the generation, but does not change the spec, so it does not fail the job.
 *
 * Source: spec/landscaper.md 2.3 "Completing" 2, 2.2 "Delete while a job runs".
 */
export function checkGeneration({ state: { target }, draft }: InstallationPass): Outcome {
  const edits = target.generation - draft.observedGeneration - (target.deleting ? 1 : 0)
  if (edits <= 0) return done
  return fail(
    'CheckObservedGeneration',
    `spec: edited during the job (found generation ${target.generation}; expected ${draft.observedGeneration}); start another job`,
  )
}
