// Announces the result of a roll-out by an Event and a call to the platform: all Pods are ready, the App is paused, or the roll-out is stuck.

import { activitiesOf, done, type Outcome } from 'pawl/kit'

import type { AppPass } from './app.gen.ts'

export const announcements = activitiesOf(() => import('./announcements.activities.ts'), {
  announce: { timeoutMs: 5000, attempts: 3 },
})

/** The reasons with which a roll-out ends; `RollingOut` is not one of them. */
const ENDS = new Set(['RolledOut', 'Paused', 'Stuck'])

export async function announce({ target, act, call, status }: AppPass): Promise<Outcome> {
  const { conditions: before, announced } = target.status ?? {}
  const { reason = '', message = '' } = (status.conditions ?? before)?.find(({ type }) => type === 'Ready') ?? {}
  const isEnd = ENDS.has(reason)
  if (!isEnd || reason === announced) {
    // A new roll-out has begun: its result is announced even if it equals the previous one.
    if (!isEnd && announced !== undefined) status.announced = null
    return done
  }
  const occasion = `${target.metadata.generation}`
  await act.event({ type: reason === 'Stuck' ? 'Warning' : 'Normal', reason, message, occasion })
  const { namespace, name } = target.metadata
  await call(announcements).announce({ app: `${namespace}/${name}`, reason, message })
  // Last: if the call fails, the next pass repeats the announcement.
  status.announced = reason
  return done
}
