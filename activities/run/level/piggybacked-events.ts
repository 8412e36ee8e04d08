// Emits the Events that are piggybacked on an activity call (workflows/kit/run/loop/level-acts.ts), before the call does its work.

import type { LevelInput } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import { isLastAttempt } from '../attempt.ts'
import { emitEvent } from './event.ts'

type EventsInput = Pick<LevelInput, 'by' | 'subject' | 'target'> & { readonly told: LevelInput['told'] | undefined }
type Calls<Names extends PropertyKey> = Readonly<Record<Names, (input: never) => Promise<unknown>>>

/** Wraps activities: each emits the piggybacked Events first. @throws the errors of the activity, and failures of Temporal if notifications are sent. */
export function emitEventsFirst<Acts extends Calls<keyof Acts>>(deps: Deps, acts: Acts): Acts {
  const telling = Object.entries(acts as Calls<string>).map(([name, act]) => [
    name,
    async (input: never) => {
      await emitEvents(deps, input)
      return await act(input)
    },
  ])
  return Object.fromEntries(telling) as Acts
}

/** Emits the Events at the end of a pass. The end is retried until it succeeds, so after the last quick attempt a failed notification is only logged. */
export async function emitEventsAtEnd(deps: Deps, input: EventsInput): Promise<void> {
  try {
    await emitEvents(deps, input)
  } catch (error) {
    if (!isLastAttempt()) throw error
    deps.log.warn({ err: error, object: input.subject }, 'nobody could be notified of events at the end of a pass')
  }
}

/** Emits in order, because `kubectl describe` sorts Events of one second by their creation. */
async function emitEvents(deps: Deps, { by, subject, target, told = [] }: EventsInput): Promise<void> {
  for (const one of told) await emitEvent(deps, { by, subject, target, ...one })
}
