// Deleting: waits until the Execution is gone; then the finalizer goes, and with it the Installation. Source: spec/landscaper.md 2.4 "Deleting".

import { FINALIZER } from '../contract.ts'
import { again, fail, GONE, type Outcome, stop } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'

export async function awaitDeletion(pass: InstallationPass): Promise<Outcome> {
  const { by, subject, jobID, act, state } = pass
  const { execution, target } = state
  if (execution?.jobIDFinished === jobID) {
    const found = `execution ${subject.name} is ${execution.phase ?? 'unfinished'}; expected it to be gone`
    return fail('UndeletedSubobjects', execution.error === undefined ? found : `${found}: ${execution.error}`)
  }
  if (execution !== undefined) return stop(`waiting for execution ${subject.name} to be gone`)
  if (!target.finalizers.includes(FINALIZER)) return stop('waiting for other finalizers')
  const left = await act.guardSubject({
    by,
    subject,
    version: target.version,
    finalizers: target.finalizers,
    guarded: false,
  })
  return left === undefined ? stop(GONE) : again(0)
}
