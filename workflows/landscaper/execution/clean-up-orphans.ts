// Phase Progressing, before new items start: uninstalls all orphans at once and waits until they are deleted. Source: spec/landscaper.md 2.8 rule 1.
// `dependsOn` of orphans is ignored. An orphan that no deployer ever picked up, e.g. because its type is misspelt, has nothing to uninstall and is
// released at once. So is an orphan whose cluster was removed (releaseItemsOfRemoved).

import { done, fail, joinOutcomes, type Outcome, stop } from '../../kit/index.ts'
import { classifyDeployItems } from './classify-deploy-items.ts'
import {
  callForItems,
  formatErrors,
  errorCodes,
  type ExecutionPass,
  describePause,
  isRunning,
  isPaused,
  isReleasable,
  names,
} from './pass.ts'
import { releaseItemsOfRemoved, type RemovedClusters } from './delete-items.ts'
import { waitForRunning, startItems } from './start-items.ts'

export async function cleanUpOrphans(pass: ExecutionPass): Promise<Outcome> {
  if (isPaused(pass)) return await continueRunning(pass)
  const deletion = await deleteRemovedItems(pass)
  if (deletion.faults.length > 0) return deletion
  const { state } = pass
  const { orphans } = classesOf(pass)
  if (orphans.length === 0) return done

  if (state.target.withoutUninstall) return await callForItems(pass, 'releaseDeployItems', orphans)
  const untouched = orphans.filter((orphan) => isReleasable(pass, orphan))
  if (untouched.length > 0) {
    const released = await callForItems(pass, 'releaseDeployItems', untouched)
    return released.faults.length > 0 ? released : await cleanUpOrphans(pass)
  }
  return await uninstall(pass, await releaseItemsOfRemoved(pass, orphans))
}

/** Continues orphans that have started, and leaves the others untouched. */
async function continueRunning(pass: ExecutionPass): Promise<Outcome> {
  const orphans = () => classesOf(pass).orphans
  if (orphans().length === 0) return done
  const taken = await startItems(
    pass,
    pass.state.deployItems.filter((item) => isRunning(pass, item)),
  )
  if (taken.faults.length > 0) return taken
  const left = orphans()
  return left.length === 0 ? done : joinOutcomes(stop(`${describePause(pass)}; not uninstalled: ${names(left)}`), taken)
}

async function uninstall(pass: ExecutionPass, removed: RemovedClusters): Promise<Outcome> {
  const { jobID } = pass
  // Other items that run continue meanwhile.
  const look = () => {
    const { orphans, running } = classesOf(pass)
    return { orphans, unfinished: [...orphans.filter((orphan) => orphan.jobIDFinished !== jobID), ...running] }
  }
  const taken = await startItems(
    pass,
    look().unfinished.filter((item) => item.untouched !== true && !removed.isHeld(item)),
  )
  const { orphans, unfinished } = look()
  const waiting = stop(`waiting until these orphaned deploy items are uninstalled: ${names(unfinished)}`)
  if (taken.faults.length > 0)
    return waitForRunning(
      taken,
      unfinished.filter((item) => isRunning(pass, item)),
      waiting,
    )
  if (orphans.length === 0) return done
  // A failed orphan fails the phase only after all running items have finished.
  if (unfinished.length > 0) return joinOutcomes(waiting, taken, removed.outcome)
  return fail(
    'OrphanedDeployItems',
    `Pawl could not uninstall the orphaned deploy items ${names(orphans)}${formatErrors(orphans)}`,
    errorCodes(orphans),
  )
}

// Deletes items that an edit removed from the spec during the job. Handing them a job ID without a deletion would deploy them.
async function deleteRemovedItems(pass: ExecutionPass): Promise<Outcome> {
  const unwanted = classesOf(pass).orphans.filter((orphan) => !orphan.deleting)
  return await callForItems(pass, 'deleteDeployItems', unwanted)
}

function classesOf({ state, jobID, background: background }: ExecutionPass) {
  return classifyDeployItems(state.target.items, state.deployItems, jobID, (uid) => background.has(uid))
}
