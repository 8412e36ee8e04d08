// Job IDs of items come from elsewhere: from their Execution, or a hand. Only one that is being deleted and has no owner left gets its own,
// whatever its type, so that nothing waits for a parent that is gone. Source: docs/architecture.md "Subjects and routes".

import { FINALIZER } from '../contract.ts'
import { done, HANDED_DOWN, type Outcome, stop, SUPERSEDED } from '../../kit/index.ts'
import { isServed, type ItemPass, itemState } from './pass.ts'

export async function beginItem(pass: ItemPass): Promise<Outcome> {
  const { by, subject, jobID, act } = pass
  const { target } = pass.state
  if (target.jobID === jobID) return isServed(target, pass) ? done : stop(HANDED_DOWN)
  // The run is there for the finalizer, or its job was taken away.
  if (!target.deleting) return target.finalizers.includes(FINALIZER) ? stop(SUPERSEDED) : done
  const begun = await act.beginJob({
    by,
    subject,
    jobID,
    target: { version: target.version, generation: 0, deleting: true, jobID: target.jobID },
  })
  if (begun === undefined) return stop(SUPERSEDED)
  pass.state = itemState({ ...target, version: begun.version, jobID, phase: begun.phase })
  return isServed(target, pass) ? done : stop(HANDED_DOWN)
}
