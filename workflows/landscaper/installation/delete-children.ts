// The steps of an Installation's deletion: waits for its successors, deletes its children, and removes its finalizer when they are deleted.
// Source: spec/landscaper.md 2.4.

import { again, done, fail, GONE, interrupts, type Outcome, stop } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'
import { clearWaits, reportWait } from './wait-conditions.ts'
import { FINALIZER, ORPHAN_FINALIZER } from '../contract.ts'
import { applySubsResult, asChild, childCodes, formatNames, formatPhase, formatSub } from './sub-installations.ts'
import { shortList } from '../short-list.ts'

export async function awaitSuccessors(pass: InstallationPass): Promise<Outcome> {
  const { by, subject, jobID, act, state } = pass
  const { target } = state
  clearWaits(pass)
  // A deletion that started in a release without an order of roots continues without it.
  const isOrdered = target.hasParent || target.gives === true
  if (!target.awaitsSuccessors || !isOrdered) return done
  const { generation } = target
  const { unfinished, failed } = await act.lookForSuccessors({ by, subject, jobID, generation })
  if (failed.length > 0)
    return fail(
      'SuccessorsNotDeleted',
      `Pawl could not delete the siblings that import from this installation: ${failed.join(', ')}`,
    )
  if (unfinished.length === 0) return done
  const reason = `waiting for the deletion of siblings that import from this installation: ${unfinished.join(', ')}`
  reportWait(pass, 'siblings', reason)
  return stop(reason)
}

// Phase InitDelete: deletes the Execution and the sub-installations. Children with a deletion timestamp get the request to release their items, if it
// is set.
// Source: spec/landscaper.md 2.4.
//
//   D1. `kubectl delete --cascade=orphan` keeps the children. While Kubernetes' finalizer for it is on the Installation, the garbage collector is
//       removing the children's owner references, so the step waits; afterwards the Installation has no children and is deleted alone. A child whose
//       removed reference the journal does not show yet is not deleted either (activities/run/children.ts).

const ORPHANING = "waiting for Kubernetes' garbage collector to remove the owner references of the children"

export async function deleteChildren(pass: InstallationPass): Promise<Outcome> {
  const { by, subject, jobID, act } = pass
  const { withoutUninstall, finalizers } = pass.state.target
  if (finalizers.includes(ORPHAN_FINALIZER)) return stop(ORPHANING)
  const isToTell = (child: { readonly deleting: boolean; readonly withoutUninstall: boolean }) =>
    !child.deleting || (withoutUninstall && !child.withoutUninstall)
  const { execution, subInstallations } = pass.state
  if (execution !== undefined && isToTell(execution)) {
    const left = await act.deleteExecution({ by, subject, execution, withoutUninstall })
    pass.state = { ...pass.state, execution: left }
  }
  const subs = subInstallations.filter(isToTell).map(asChild)
  if (subs.length > 0)
    applySubsResult(
      pass,
      await act.deleteSubInstallations({ by, subject, jobID, subInstallations: subs, withoutUninstall }),
    )
  return done
}

/**
 * Phase Deleting: waits until the children are deleted, then removes the finalizer. Source: spec/landscaper.md 2.4 "Deleting".
 */
export async function awaitDeletion(pass: InstallationPass): Promise<Outcome> {
  const children = childrenLeft(pass)
  if (interrupts(children)) return children
  const { by, subject, act, state } = pass
  const { version, finalizers } = state.target
  if (!finalizers.includes(FINALIZER)) return stop('waiting until other controllers remove their finalizers')
  const left = await act.guardSubject({ by, subject, version, finalizers, guarded: false })
  return left === undefined ? stop(GONE) : again(0)
}

function childrenLeft({ subject, jobID, state: { execution, subInstallations } }: InstallationPass): Outcome {
  const isLeft = execution !== undefined && execution.jobIDFinished !== jobID
  const unfinished = subInstallations.filter((sub) => sub.jobIDFinished !== jobID)
  if (isLeft || unfinished.length > 0) {
    const waitedFor = [
      ...(isLeft ? [`Execution "${subject.name}"`] : []),
      ...(unfinished.length > 0 ? [`sub-installations ${formatNames(unfinished)}`] : []),
    ]
    return stop(`waiting for the deletion of ${waitedFor.join(' and ')}`)
  }
  const failures = [
    ...(execution === undefined ? [] : [formatExecution(subject.name, execution)]),
    ...subInstallations.map(formatSub),
  ]
  if (failures.length === 0) return done
  return fail('UndeletedSubobjects', shortList(failures).join(' | '), childCodes(execution, subInstallations))
}

function formatExecution(
  name: string,
  { phase, error }: { readonly phase: string | undefined; readonly error?: string | undefined },
) {
  const text = `Execution "${name}" ${phase === 'DeleteFailed' ? formatPhase(phase) : 'still exists'}`
  return error === undefined ? text : `${text}: ${error}`
}
