// Phase InitDelete: waits until the siblings that import from this Installation are deleted. Source: spec/landscaper.md 2.4 "InitDelete".

import { done, fail, type Outcome, stop } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'
import { endWait, tellWait } from './told-waits.ts'

export async function awaitSuccessors(pass: InstallationPass): Promise<Outcome> {
  const { by, subject, jobID, act, state } = pass
  const { target } = state
  endWait(pass)
  // A deletion that started in a release without an order of roots continues without it.
  const isOrdered = target.hasParent || target.gives === true
  if (!target.awaitsSuccessors || !isOrdered) return done
  const { generation } = target
  const { unfinished, failed } = await act.lookForSuccessors({ by, subject, jobID, generation })
  if (failed.length > 0)
    return fail('SuccessorsNotDeleted', `siblings that import from here could not be deleted: ${failed.join(', ')}`)
  if (unfinished.length === 0) return done
  const reason = `waiting for siblings that import from here to be gone: ${unfinished.join(', ')}`
  tellWait(pass, 'siblings', reason)
  return stop(reason)
}
