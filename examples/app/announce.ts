// Tells people and the platform when an App has come to something: all Pods there, a pause, a roll-out that is stuck.

import { activitiesOf, done, type Outcome } from 'pawl/kit'

import type { AppPass } from './app.gen.ts'

export const announcements = activitiesOf(() => import('./announcements.activities.ts'), {
  announce: { timeoutMs: 5000, attempts: 3 },
})

/** What a roll-out comes to; `RollingOut` is on the way. */
const ENDS = new Set(['RolledOut', 'Paused', 'Stuck'])

export async function announce({ target, act, call, status }: AppPass): Promise<Outcome> {
  const { conditions: before, announced: told } = target.status ?? {}
  const { reason = '', message = '' } = (status.conditions ?? before)?.find(({ type }) => type === 'Ready') ?? {}
  const isEnd = ENDS.has(reason)
  if (!isEnd || reason === told) {
    // The next end is news again, also when it is the same.
    if (!isEnd && told !== undefined) status.announced = null
    return done
  }
  const occasion = `${target.metadata.generation}`
  await act.event({ type: reason === 'Stuck' ? 'Warning' : 'Normal', reason, message, occasion })
  const { namespace, name } = target.metadata
  await call(announcements).announce({ app: `${namespace}/${name}`, reason, message })
  // Last: what was not told is told by the next pass.
  status.announced = reason
  return done
}
