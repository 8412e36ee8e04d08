// Progressing, before anything else: orphans get the job ID, all at once, and are waited for until they are gone.
// Source: spec/landscaper.md 2.8 rule 1. Their `dependsOn` is not honoured. One that no deployer ever took up, e.g. of a misspelt type, has
// nothing to uninstall and is let go at once.

import { done, fail, type Outcome, stop } from '../../kit/index.ts'
import { classifyDeployItems } from './classify-deploy-items.ts'
import { absorb, batch, causes, type ExecutionPass, names } from './pass.ts'

export async function cleanUpOrphans(pass: ExecutionPass): Promise<Outcome> {
  const kept = await deleteUnwanted(pass)
  if (kept.faults.length > 0) return kept
  const { state, jobID, act } = pass
  const { orphans } = classifyDeployItems(state.target.items, state.deployItems, jobID)
  if (orphans.length === 0) return done

  if (state.target.withoutUninstall) return absorb(pass, await act.releaseDeployItems(batch(pass, orphans)))
  const untouched = orphans.filter((orphan) => orphan.untouched === true && orphan.jobID !== jobID)
  if (untouched.length > 0) {
    const released = absorb(pass, await act.releaseDeployItems(batch(pass, untouched)))
    return released.faults.length > 0 ? released : await cleanUpOrphans(pass)
  }
  const untriggered = orphans.filter((orphan) => orphan.jobID !== jobID)
  if (untriggered.length > 0) {
    const triggered = absorb(pass, await act.triggerDeployItems(batch(pass, untriggered)))
    return triggered.faults.length > 0
      ? triggered
      : stop(`waiting for orphaned deploy items to be uninstalled: ${names(orphans)}`)
  }
  if (orphans.every((orphan) => orphan.jobIDFinished === jobID)) {
    return fail(
      'OrphanedDeployItems',
      `orphaned deploy items could not be uninstalled: ${names(orphans)}${causes(orphans)}`,
    )
  }
  return stop(`waiting for orphaned deploy items to be uninstalled: ${names(orphans)}`)
}

// Items that an edit of the spec has dropped during the job: a job ID would deploy them, so they are deleted first.
async function deleteUnwanted(pass: ExecutionPass): Promise<Outcome> {
  const { state, jobID, act } = pass
  const { orphans } = classifyDeployItems(state.target.items, state.deployItems, jobID)
  const unwanted = orphans.filter((orphan) => !orphan.deleting)
  return unwanted.length === 0 ? done : absorb(pass, await act.deleteDeployItems(batch(pass, unwanted)))
}
