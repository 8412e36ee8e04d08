// Phase Init: renders the blueprint's deploy items and sub-installations from the imports, once per job. Source: spec/landscaper.md 2.3 "Init" 4-11.

import { again, done, fail, type FaultCondition, interrupts, type Outcome, stop } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'
import { EXECUTION_CONDITION, IMPORTS_CONDITION, OVERWRITE_CONDITION, SUB_INSTALLATIONS_CONDITION } from './kind.ts'
import { runExecution } from './run-execution.ts'
import { clearWaits, reportWait } from './wait-conditions.ts'
import { childCodes } from './sub-installations.ts'

export async function applyChildren(pass: InstallationPass): Promise<Outcome> {
  const { by, subject, jobID, act, draft } = pass
  if (isRendered(pass)) return setRenderedAgain(pass)
  const interruption = await finishExecutionDeletion(pass)
  if (interruption !== undefined) return interruption
  const { state } = pass
  clearWaits(pass)
  const applied = await act.applyChildren({ by, subject, jobID, generation: state.target.generation })
  if (applied.result === 'refused') {
    const { of, code, message } = applied
    draft.conditions.push({ ...REFUSED[of], status: 'False', message })
    return fail(code, message)
  }
  // The activity set the owner of an existing Execution. The next pass also reads its items.
  if (applied.result === 'adopted') return again(0)
  if (applied.result === 'waiting') {
    if (applied.of !== undefined) reportWait(pass, applied.of, applied.reason)
    return stop(applied.reason)
  }
  const { execution, subInstallations, wantedSubs } = applied
  pass.state = { ...state, execution, subInstallations, wantedSubs }
  reportReplaced(draft, applied.replaced)
  setRendered(pass, applied.generation ?? state.target.generation, applied.importsHash)
  return done
}

const REFUSED = {
  imports: { type: IMPORTS_CONDITION, reason: 'ImportValidationFailed' },
  subInstallations: { type: SUB_INSTALLATIONS_CONDITION, reason: 'InstallationCreatingFailed' },
} as const

/**
 * Whether items of this job exist. Then nothing is rendered again, because templates may be random and imports may have
 * changed. False if the Execution is being deleted, because it is created and rendered again.
 */
function isRendered({ state: { execution, deployItems }, jobID }: InstallationPass): boolean {
  return execution !== undefined && !execution.deleting && deployItems.some((item) => item.jobID === jobID)
}

/** Sets the status of the rendering again: a run that ended after the rendering may not have written it. */
function setRenderedAgain(pass: InstallationPass): Outcome {
  const { target, execution } = pass.state
  const { generation, importsHash } = execution?.renderedFrom ?? target
  setRendered(pass, generation, importsHash)
  return done
}

function setRendered({ draft, state, subject }: InstallationPass, generation: number, importsHash?: string): void {
  draft.observedGeneration = generation
  if (state.execution !== undefined) {
    draft.fields['executionRef'] = { name: subject.name, namespace: subject.namespace }
    const message = `Execution "${subject.name}" has the deploy items of the blueprint`
    pushCondition(draft, { type: EXECUTION_CONDITION, reason: 'ExecutionDeployed', message })
  } else if (state.target.hasExecution) {
    // A user deleted the Execution, and the blueprint has no items any more: the status must not report a missing Execution.
    draft.fields['executionRef'] = null
  }
  // Without imports, an earlier hash stays until Completing has removed the copies of the earlier imports.
  if (importsHash !== undefined) {
    draft.fields['importsHash'] = importsHash
    const message = 'the imports are complete and valid'
    pushCondition(draft, { type: IMPORTS_CONDITION, reason: 'ImportsSatisfied', message })
  }
  reportSubInstallations(draft, state)
}

type Draft = InstallationPass['draft']

function pushCondition({ conditions }: Draft, condition: FaultCondition & { readonly message: string }): void {
  conditions.push({ ...condition, status: 'True' })
}

/** @param replaced the replaced references as text: empty if no reference is replaced, undefined if the Installation has no component. */
function reportReplaced(draft: Draft, replaced: string | undefined): void {
  if (replaced === undefined) return
  const type = OVERWRITE_CONDITION
  if (replaced !== '') pushCondition(draft, { type, reason: 'FoundOverwrite', message: replaced })
  else draft.conditions.push({ type, status: 'False', reason: 'NoOverwriteFound', message: NOTHING_REPLACED })
}

const NOTHING_REPLACED = 'Pawl replaced no component reference'

function reportSubInstallations(
  draft: Draft,
  { target, subInstallations, wantedSubs }: InstallationPass['state'],
): void {
  // Without `wantedSubs`, an earlier run of the job rendered, and wrote the names of the sub-installations before any item started.
  const count = (wantedSubs ?? target.activeSubs).length
  const message = `${count} sub-installations match the blueprint`
  pushCondition(draft, { type: SUB_INSTALLATIONS_CONDITION, reason: 'InstallationsInstalled', message })
  if (wantedSubs === undefined || (wantedSubs.length === 0 && target.activeSubs.length === 0)) return
  const byName = [...wantedSubs].sort((left, right) => (left.name < right.name ? -1 : 1))
  draft.fields['subInstCache'] = {
    activeSubs: byName.map(({ template, name }) => ({ specName: template, objectName: name })),
    orphanedSubs: subInstallations.filter(({ deleting }) => deleting).map(({ name }) => name),
  }
}

/**
 * If a user deleted the Execution, finishes its deletion, so that the Execution can be created again.
 *
 * @returns undefined when no Execution is being deleted any more.
 */
async function finishExecutionDeletion(pass: InstallationPass): Promise<Outcome | undefined> {
  if (pass.state.execution?.deleting !== true) return undefined
  const outcome = await runExecution(pass)
  if (interrupts(outcome)) return outcome
  const { state, subject, jobID } = pass
  const { execution } = state
  if (execution === undefined) return undefined
  return execution.jobIDFinished === jobID
    ? fail(
        'UndeletedSubobjects',
        `Execution "${subject.name}": the blueprint has no deploy items, but the Execution still exists, phase ${execution.phase ?? 'unfinished'}`,
        childCodes(execution, []),
      )
    : stop(`waiting for the deletion of Execution "${subject.name}"`)
}
