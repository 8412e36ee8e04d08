// Events that go along with a call (workflows/kit/run/loop/along.ts): told before what the call is for.

import type { LevelInput } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import { isLastAttempt } from '../attempt.ts'
import { tell } from './event.ts'

type Told = Pick<LevelInput, 'by' | 'subject' | 'target'> & { readonly told: LevelInput['told'] | undefined }
type Calls<Names extends PropertyKey> = Readonly<Record<Names, (input: never) => Promise<unknown>>>

/** The same calls, each of which tells first what goes along. @throws beside their own, failures of Temporal where somebody is told of an event. */
export function tellingFirst<Acts extends Calls<keyof Acts>>(deps: Deps, acts: Acts): Acts {
  const telling = Object.entries(acts as Calls<string>).map(([name, act]) => [
    name,
    async (input: never) => {
      await tellAlong(deps, input)
      return await act(input)
    },
  ])
  return Object.fromEntries(telling) as Acts
}

/** The same at the end of a pass, which is tried until it succeeds: nothing waits for who cannot be told after a few tries. */
export async function tellAtEnd(deps: Deps, input: Told): Promise<void> {
  try {
    await tellAlong(deps, input)
  } catch (error) {
    if (!isLastAttempt()) throw error
    deps.log.warn({ err: error, object: input.subject }, 'nobody could be notified of events at the end of a pass')
  }
}

/** In their order: of two events of one second the later one is the news. */
async function tellAlong(deps: Deps, { by, subject, target, told = [] }: Told): Promise<void> {
  for (const one of told) await tell(deps, { by, subject, target, ...one })
}
