// The turns of passes, of controllers that bound how many of theirs are under way at once.

import type { By, LevelJournal, Subject } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import { giveTurnBack, takeTurn } from '../../journal/write/pass-turns.ts'
import { controllerOf } from '../controllers.ts'

export const turnActivities = (deps: Deps): Pick<LevelJournal, 'takeTurn'> => ({
  /** Takes the turn for a pass; when as many are taken as may be, the run is woken when one is free. */
  async takeTurn({ by, subject }) {
    const most = boundOf(deps, by)
    // Code that has no bound any more: what asks is the run of a worker of the build before.
    if (most === undefined) return true
    const { uid, namespace, name } = subject
    const taker = { cluster: deps.cluster, controller: controllerOf(by), uid, namespace, name }
    return await takeTurn(deps.db, { ...taker, workflowID: by.workflowID }, most, deps.now())
  },
})

/** The pass is over. */
export async function endTurn(deps: Deps, by: By, { uid }: Pick<Subject, 'uid'>): Promise<void> {
  if (boundOf(deps, by) === undefined) return
  await giveTurnBack(deps.db, { cluster: deps.cluster, controller: controllerOf(by), uid })
}

function boundOf({ controllers }: Pick<Deps, 'controllers'>, by: By): number | undefined {
  const controller = controllers.get(controllerOf(by))
  return controller?.mode === 'level' ? controller.settings?.passes : undefined
}
