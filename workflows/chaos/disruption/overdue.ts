// Chaos pods that are left long after their Disruption has ended: nobody is to believe that it is undone. Source: spec/chaos.md 2.2 (5), B19.

import { letGoCommand } from '../let-go-command.ts'
import type { ChaosPod } from './observed.ts'
import { chaosNamespaceIn, configOf, type DisruptionPass } from './pass.ts'

const MOST_SHOWN = 5

export interface End {
  /** Milliseconds since the epoch. */
  readonly since: number
  /** What has ended it, for people. */
  readonly what: 'deletion' | 'end'
}

/**
 * Marks it as stuck, with the way out, when chaos pods are left for longer than `disruptionDeletionTimeout`.
 *
 * @returns in how many milliseconds that will be; undefined when it is so.
 */
export async function tellOverdue(
  pass: Pick<DisruptionPass, 'now' | 'status' | 'act' | 'settings' | 'target'>,
  left: readonly ChaosPod[],
  { since, what }: End,
): Promise<number | undefined> {
  const { now, status, act } = pass
  const { disruptionDeletionTimeoutMs: most } = configOf(pass).controller
  const isIn = since + most - now.getTime()
  if (isIn > 0) return isIn
  status.isStuckOnRemoval = true
  const names = left.map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`).sort()
  const shown = [...names.slice(0, MOST_SHOWN), ...(names.length > MOST_SHOWN ? ['...'] : [])].join(', ')
  await act.event({
    type: 'Warning',
    reason: 'StuckOnRemoval',
    message:
      `${left.length} chaos pods are left ${Math.round(most / 60_000)} min after its ${what}: ${shown}; see whether their nodes are there and what their logs say, ` +
      `undo what is left, then take their finalizers off: ${letGoCommand(chaosNamespaceIn(pass), 'NAME')}`,
  })
  return undefined
}
