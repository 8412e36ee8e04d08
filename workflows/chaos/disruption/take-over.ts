// Takes over a Disruption that chaos-controller has begun: its targets stay, and its chaos pods become ours, so that nothing is injected a second time and
// what runs is ended in order. Wire format: spec/chaos.md 1.7, 2.5.
//
//   T1. It comes before the spec is kept: as long as one chaos pod is not ours the next pass tries again, and none is made.
//   T2. One that nobody has begun has no status yet, and nothing is asked for it: whoever makes chaos pods has told of the targets before.

import { action, again, done } from '../../kit/index.ts'
import { type DisruptionPass, statusIn } from './pass.ts'

export const takeOver = action<DisruptionPass>('takeOver', async (pass) => {
  const { target, state, status, act } = pass
  const { originalSpec, injectionStatus, targetInjections } = target.status ?? {}
  const isBegun = injectionStatus !== undefined || targetInjections !== undefined
  // T2
  if (originalSpec !== undefined || !(isBegun || target.metadata.deletionTimestamp !== undefined)) return done
  // What it calls its targets today are the keys; names in a list are those of 2021.
  if (statusIn(pass).targets === undefined && targetInjections !== undefined)
    status.targets = Object.keys(targetInjections).sort()
  const own = new Set(state.chaosPods.map(({ metadata }) => metadata.uid))
  const others = (await pass.refresh('labelledChaosPods')).filter(({ metadata }) => !own.has(metadata.uid))
  if (others.length === 0) return done
  await Promise.all(
    others.map(async (pod) => {
      const { apiVersion, kind, metadata } = pod
      const { name, namespace } = metadata
      await act.apply(
        { apiVersion, kind, metadata: { name, namespace } },
        { owner: 'label', adopt: true, expected: pod },
      )
    }),
  )
  await act.event({
    type: 'Normal',
    reason: 'TakenOver',
    message: `${others.length} chaos pods of chaos-controller are taken over: what they do goes on, and ends with this Disruption`,
  })
  // It sees them as its own.
  return again(0)
})
