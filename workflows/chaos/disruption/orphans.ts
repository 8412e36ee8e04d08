// Chaos pods whose Disruption is gone, though it had not been undone: somebody has taken its finalizer off. They are ended as by a deletion, and let go of by
// the same rules; chaos-controller leaves those whose target is there. Source: spec/chaos.md 2.7, 2.9, B20.
//
//   O1. What cannot clean is told about the chaos pod, which is what is left to look at.

import { action, again, done, type Outcome } from '../../kit/index.ts'
import { chaosPodsLeft, letGo, LOOK_AGAIN_MS } from './end-chaos-pods.ts'
import type { ChaosPod } from './observed.ts'
import type { EndingPass } from './pass.ts'

export const endOrphans = action<EndingPass>('endOrphans', async (pass): Promise<Outcome> => {
  const { act, state } = pass
  await Promise.all(state.chaosPods.map(async (pod) => await tellOrphan(pass, pod)))
  const alive = state.chaosPods.filter(({ isDeleting }) => !isDeleting)
  await Promise.all(alive.map(async (pod) => await act.remove(pod)))
  // O1
  await letGo(pass, alive.length === 0 ? state.chaosPods : await pass.refresh('chaosPods'), 'chaosPod')
  return chaosPodsLeft(pass).length === 0 ? done : again(LOOK_AGAIN_MS)
})

async function tellOrphan({ act, target }: EndingPass, pod: ChaosPod): Promise<void> {
  const { namespace, name } = target.metadata
  await act.event({
    type: 'Warning',
    reason: 'Orphaned',
    about: pod,
    message: `Disruption ${namespace}/${name} is gone, though it had not been undone: this chaos pod is ended`,
  })
}
