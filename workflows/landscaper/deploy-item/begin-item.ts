// An item that is being deleted and has no owner left gets a job from here, whatever its type, so that nothing waits for a parent
// that is gone. Source: docs/architecture.md "Created names".

import { done, isIdle, type Outcome } from '../../kit/index.ts'
import type { DeployGroupPass } from './pass.ts'

export async function beginItem(pass: DeployGroupPass): Promise<Outcome> {
  const { by, subject, jobID, act, state } = pass
  const [item] = state.deployItems
  if (subject.kind !== 'DeployItem' || item === undefined || item.jobID === jobID) return done
  if (!item.deleting || !isIdle(item)) return done
  const begun = await act.beginJob({
    by,
    subject,
    jobID,
    target: { version: item.version, generation: 0, deleting: true, jobID: item.jobID },
  })
  if (begun === undefined) return done
  pass.state = {
    ...state,
    isOver: false,
    deployItems: [{ ...item, version: begun.version, jobID, phase: begun.phase }],
  }
  return done
}
