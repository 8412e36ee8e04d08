// Emits Kubernetes Events that are piggybacked on an activity call, before the call does its work. The workflow
// collects Events and sends them in the input of its next activity, in the field `told`
// (workflows/kit/run/loop/level-acts.ts).

import type { LevelInput } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import { isLastAttempt } from '../attempt.ts'
import { emitEvent } from './event.ts'

/** The fields that all wrapped activities have in their input; `told`: the piggybacked Events. */
type EventsInput = Pick<LevelInput, 'by' | 'subject' | 'target'> & { readonly told: LevelInput['told'] | undefined }
/** Activities with any input. */
type Calls<Names extends PropertyKey> = Readonly<Record<Names, (input: never) => Promise<unknown>>>

/**
 * Wraps activities: each emits the piggybacked Events first. A retried activity emits them again without an effect,
 * because the same Event has the same name.
 *
 * @throws the errors of the activity, and failures of Temporal: an Event starts a notification workflow for each
 * receiver (notifications.ts). A failure of the API server is only logged.
 */
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

/**
 * Emits the Events that no activity of the pass carried; called by the activities that end a pass or a run. Temporal
 * retries these activities without limit, so from the fourth attempt on (`SHORT_TRIES`) a notification that cannot be
 * started is only logged and does not block the end.
 */
export async function emitEventsAtEnd(deps: Deps, input: EventsInput): Promise<void> {
  try {
    await emitEvents(deps, input)
  } catch (error) {
    if (!isLastAttempt()) throw error
    deps.log.warn({ err: error, object: input.subject }, 'could not send notifications of events at the end of a pass')
  }
}

/** Emits in order, because `kubectl describe` sorts Events of one second by their creation. */
async function emitEvents(deps: Deps, { by, subject, target, told: events = [] }: EventsInput): Promise<void> {
  for (const one of events) await emitEvent(deps, { by, subject, target, ...one })
}
