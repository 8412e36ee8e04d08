// InitDelete: whoever exports goes after those who import from it. Source: spec/landscaper.md 2.4 "InitDelete".

import { done, fail, type Outcome, stop } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'

export async function awaitSuccessors({ by, subject, jobID, act, state }: InstallationPass): Promise<Outcome> {
  const { target } = state
  if (!target.awaitsSuccessors || !target.hasParent) return done
  const { generation } = target
  const { unfinished, failed } = await act.lookForSuccessors({ by, subject, jobID, generation })
  if (failed.length > 0)
    return fail('SuccessorsNotDeleted', `siblings that import from here could not be deleted: ${failed.join(', ')}`)
  return unfinished.length === 0
    ? done
    : stop(`waiting for siblings that import from here to be gone: ${unfinished.join(', ')}`)
}
