// Phase Progressing, before new items start: uninstalls all orphans at once and waits until they are deleted. Source: spec/landscaper.md
// 2.8 rule 1.
// `dependsOn` of orphans is ignored. An orphan that no deployer ever picked up, e.g. because its type is misspelt, has nothing to uninstall
// and is
// released at once. So is an orphan whose cluster was removed (releaseOfRemoved).

import { done, fail, joinOutcomes, type Outcome, stop } from '../../kit/index.ts'
import { classifyDeployItems } from './classify-deploy-items.ts'
import {
  absorbAll,
  causes,
  codesOf,
  type ExecutionPass,
  heldBackText,
  isAtWork,
  isHeldBack,
  isToBeReleased,
  names,
} from './pass.ts'
import { type RemovedClusters, releaseOfRemoved } from './release-of-removed.ts'
import { drained, takeUpItems } from './take-up-items.ts'

export async function cleanUpOrphans(pass: ExecutionPass): Promise<Outcome> {
  if (isHeldBack(pass)) return await holdBack(pass)
  const kept = await deleteUnwanted(pass)
  if (kept.faults.length > 0) return kept
  const { state } = pass
  const { orphans } = classesOf(pass)
  if (orphans.length === 0) return done

  if (state.target.withoutUninstall) return await absorbAll(pass, 'releaseDeployItems', orphans)
  const untouched = orphans.filter((orphan) => isToBeReleased(pass, orphan))
  if (untouched.length > 0) {
    const released = await absorbAll(pass, 'releaseDeployItems', untouched)
    return released.faults.length > 0 ? released : await cleanUpOrphans(pass)
  }
  return await uninstall(pass, await releaseOfRemoved(pass, orphans))
}

/** Continues orphans that have started, and leaves the others untouched. */
async function holdBack(pass: ExecutionPass): Promise<Outcome> {
  const orphans = () => classesOf(pass).orphans
  if (orphans().length === 0) return done
  const taken = await takeUpItems(
    pass,
    pass.state.deployItems.filter((item) => isAtWork(pass, item)),
  )
  if (taken.faults.length > 0) return taken
  const left = orphans()
  return left.length === 0 ? done : joinOutcomes(stop(`${heldBackText(pass)}; held back: ${names(left)}`), taken)
}

async function uninstall(pass: ExecutionPass, removed: RemovedClusters): Promise<Outcome> {
  const { jobID } = pass
  // Other items that run continue meanwhile.
  const look = () => {
    const { orphans, running } = classesOf(pass)
    return { orphans, unfinished: [...orphans.filter((orphan) => orphan.jobIDFinished !== jobID), ...running] }
  }
  const taken = await takeUpItems(
    pass,
    look().unfinished.filter((item) => item.untouched !== true && !removed.isHeld(item)),
  )
  const { orphans, unfinished } = look()
  const waiting = stop(`waiting for orphaned deploy items to be uninstalled: ${names(unfinished)}`)
  if (taken.faults.length > 0)
    return drained(
      taken,
      unfinished.filter((item) => isAtWork(pass, item)),
      waiting,
    )
  if (orphans.length === 0) return done
  // A failed orphan fails the phase only after all running items have finished.
  if (unfinished.length > 0) return joinOutcomes(waiting, taken, removed.outcome)
  return fail(
    'OrphanedDeployItems',
    `orphaned deploy items could not be uninstalled: ${names(orphans)}${causes(orphans)}`,
    codesOf(orphans),
  )
}

// Deletes items that an edit removed from the spec during the job. Handing them a job ID without a deletion would deploy them.
async function deleteUnwanted(pass: ExecutionPass): Promise<Outcome> {
  const unwanted = classesOf(pass).orphans.filter((orphan) => !orphan.deleting)
  return await absorbAll(pass, 'deleteDeployItems', unwanted)
}

function classesOf({ state, jobID, background: tracks }: ExecutionPass) {
  return classifyDeployItems(state.target.items, state.deployItems, jobID, (uid) => tracks.has(uid))
}
