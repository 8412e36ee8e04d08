// Permits of passes, for controllers that limit their concurrent passes (`settings.passes`). The journal's table and the activity call a permit a turn.

import type { By, LevelJournal, Subject } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import { acquirePermit, releasePermit } from '../../journal/write/pass-permits.ts'
import { controllerOf } from '../controllers.ts'

export const turnActivities = (deps: Deps): Pick<LevelJournal, 'takeTurn'> => ({
  /** Acquires the permit for a pass. If no permit is free, the run is woken when one is. */
  async takeTurn({ by, subject }) {
    const most = maxPasses(deps, by)
    // No limit in this build: the run was started by a worker of the previous build.
    if (most === undefined) return true
    const { uid, namespace, name } = subject
    const request = { cluster: deps.cluster, controller: controllerOf(by), uid, namespace, name }
    return await acquirePermit(deps.db, { ...request, workflowID: by.workflowID }, most, deps.now())
  },
})

/** Releases the permit of a pass. */
export async function releasePassPermit(deps: Deps, by: By, { uid }: Pick<Subject, 'uid'>): Promise<void> {
  if (maxPasses(deps, by) === undefined) return
  await releasePermit(deps.db, { cluster: deps.cluster, controller: controllerOf(by), uid })
}

function maxPasses({ controllers }: Pick<Deps, 'controllers'>, by: By): number | undefined {
  const controller = controllers.get(controllerOf(by))
  return controller?.mode === 'level' ? controller.settings?.passes : undefined
}
