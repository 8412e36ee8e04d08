// The life cycle of an injector in tests: injections that record their calls, a clock that the test advances, and the
// signal.

import { type Lifecycle, runLifecycle } from '../../../../activities/chaos/injector/lifecycle.ts'
import type { Injection } from '../../../../activities/chaos/injector/injection.ts'
import { HandClock } from './hand-clock.ts'

export type Making = (done: string[], clock: HandClock) => Injection

interface Behaviour {
  readonly injects?: (until: AbortSignal) => Promise<void>
  readonly cleans?: () => Promise<void>
}

export function injection(name: string, { injects = succeeding, cleans = succeeding }: Behaviour = {}): Making {
  return (done) => ({
    key: name,
    what: name,
    inject: async (until) => {
      done.push(`inject ${name}`)
      await injects(until)
    },
    finish: succeeding,
    clean: async () => {
      done.push(`clean ${name}`)
      await cleans()
    },
  })
}

export function born(
  parts: Partial<Lifecycle> = {},
  makings: readonly Making[] = [injection('a')],
  isTold = false,
  others: Partial<Lifecycle['actions']> = {},
) {
  const done: string[] = []
  const failures: string[] = []
  const counted: string[] = []
  const clock = new HandClock()
  const ending = new AbortController()
  if (isTold) ending.abort()
  let restart = (): void => undefined
  const note = (word: string) => () => {
    done.push(word)
    return Promise.resolve()
  }
  const life = runLifecycle({
    injections: makings.map((making) => making(done, clock)),
    clock,
    end: ending.signal,
    deadline: undefined,
    notBefore: undefined,
    initialDelayMs: 0,
    pulse: undefined,
    isRepeatable: true,
    count: (what, isDone) => counted.push(`${what} ${isDone ? 'succeed' : 'failed'}`),
    log: {
      debug: () => undefined,
      info: () => undefined,
      warn: () => undefined,
      error: (message) => failures.push(message),
    },
    actions: {
      becomeReady: note('ready'),
      becomeUnready: note('unready'),
      releaseTarget: note('release'),
      removeFinalizer: note('finalizer'),
      targetRestart: async (until) => {
        await new Promise<void>((resolve) => {
          restart = resolve
          until.addEventListener('abort', () => resolve(), { once: true })
        })
      },
      ...others,
    },
    ...parts,
  })
  return { life, done, failures, counted, clock, signal: () => ending.abort(), restart: () => restart() }
}

async function succeeding(): Promise<void> {
  await Promise.resolve()
}

export async function failing(): Promise<void> {
  await Promise.reject(new Error('it does not work'))
}
