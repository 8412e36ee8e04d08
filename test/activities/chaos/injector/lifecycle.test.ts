// The life of an injector. Source: seeds/chaos-controller.txt "Injector lifecycle", spec/chaos.md 4.5 (D7 to D9), Q14 to Q16.

import { describe, expect, it } from 'vitest'

import { type Life, live } from '../../../../activities/chaos/injector/lifecycle.ts'
import { createInjection, type Injection } from '../../../../activities/chaos/injector/one-injection.ts'
import { commandText } from '../../../../workflows/chaos/injector/command.ts'
import { planNodeFailure } from '../../../../workflows/chaos/injector/plan.ts'
import { HandClock, settled } from './hand-clock.ts'

describe('an injector', () => {
  it('injects, becomes ready, and cleans when a signal comes', async () => {
    const { life, done, clock, signal, counted } = born()
    await settled()
    expect(done).toEqual(['inject a', 'ready', 'release'])
    signal()
    expect(await life).toBe(0)
    expect(counted).toEqual(['injected succeed', 'cleaned succeed'])
    expect(done).toEqual(['inject a', 'ready', 'release', 'clean a', 'finalizer'])
    expect(clock.now()).toBe(1_000_000)
  })

  it('D8: cleans once when a signal comes before it injects', async () => {
    const { life, done, signal } = born({ notBefore: 2_000_000 })
    await settled()
    signal()
    signal()
    expect(await life).toBe(0)
    expect(done).toEqual(['clean a', 'finalizer'])
  })

  it('D8: cleans once when a signal was there before it began', async () => {
    const { life, done } = born({}, [injection('a')], true)
    expect(await life).toBe(0)
    expect(done).toEqual(['clean a', 'finalizer'])
  })

  it('D8: cleans once when a signal comes while it injects, and does not become ready', async () => {
    const { life, done, signal } = born({}, [injection('slow', { injects: untilTold })])
    await settled()
    signal()
    expect(await life).toBe(0)
    expect(done).toEqual(['inject slow', 'release', 'clean slow', 'finalizer'])
  })

  it('waits for its time and its first delay', async () => {
    const { life, done, clock, signal } = born({ notBefore: 1_005_000, initialDelayMs: 1000 })
    await clock.turn(5000)
    expect(done).toEqual([])
    await clock.turn(1000)
    expect(done).toEqual(['inject a', 'ready', 'release'])
    signal()
    await life
  })

  it('ends at its deadline', async () => {
    const { life, done, clock } = born({ deadline: 1_060_000 })
    await clock.turn(59_999)
    expect(done).not.toContain('clean a')
    await clock.turn(1)
    expect(await life).toBe(0)
    expect(done.slice(-2)).toEqual(['clean a', 'finalizer'])
  })

  it('X4: ends within a second, and stays ended, when its clock jumps past its deadline', async () => {
    const { life, done, clock } = born({ deadline: 4_600_000 })
    await clock.turn(10_000)
    clock.jump(7_200_000)
    await clock.turn(1000)
    expect(await life).toBe(0)
    expect(done).toEqual(['inject a', 'ready', 'release', 'clean a', 'finalizer'])
  })

  it('X4: ends after the time that it had when its clock jumps back', async () => {
    const { life, done, clock } = born({ deadline: 1_060_000 })
    await clock.turn(10_000)
    clock.jump(-7_200_000)
    await clock.turn(49_999)
    expect(done).not.toContain('clean a')
    await clock.turn(1)
    expect(await life).toBe(0)
    expect(done.slice(-2)).toEqual(['clean a', 'finalizer'])
  })

  it('X4: injects nothing again when its clock jumps past its deadline while it is dormant', async () => {
    const pulse = { activeMs: 1000, dormantMs: 500 }
    const { life, done, clock } = born({ deadline: 4_600_000, pulse })
    await settled()
    await clock.turn(1000)
    expect(done.slice(-1)).toEqual(['clean a'])
    clock.jump(7_200_000)
    // The pulse comes before it has looked at the clock.
    await clock.turn(500)
    expect(await life).toBe(0)
    expect(done).toEqual(['inject a', 'ready', 'release', 'clean a', 'clean a', 'finalizer'])
  })

  it('X4: injects nothing when its deadline has passed before it begins', async () => {
    const { life, done } = born({ deadline: 999_999 })
    expect(await life).toBe(0)
    expect(done).toEqual(['clean a', 'finalizer'])
  })

  it('D9: stays without being ready when one of its injections fails, and cleans both', async () => {
    const { life, done, signal, counted } = born({}, [injection('a', { injects: failing }), injection('b')])
    await settled()
    expect(done).toEqual(['inject a', 'inject b', 'release'])
    signal()
    expect(await life).toBe(0)
    expect(counted).toEqual(['injected failed', 'injected succeed', 'cleaned succeed', 'cleaned succeed'])
    expect(done.slice(3)).toEqual(['clean a', 'clean b', 'finalizer'])
  })

  it('D7: tries again to clean, with growing pauses, and ends well', async () => {
    const { life, done, clock, signal } = born({}, [injection('a', { cleans: failingTimes(2) })])
    await settled()
    signal()
    await settled()
    await clock.turn(999)
    expect(cleans(done)).toBe(1)
    await clock.turn(1)
    await clock.turn(1999)
    expect(cleans(done)).toBe(2)
    await clock.turn(1)
    expect(await life).toBe(0)
    expect(cleans(done)).toBe(3)
    expect(done.at(-1)).toBe('finalizer')
  })

  it('D7: fails after the third retry, has cleaned the others, and keeps its finalizer', async () => {
    const { life, done, clock, signal, counted } = born({}, [
      injection('a', { cleans: failingTimes(4) }),
      injection('b'),
    ])
    await settled()
    signal()
    await settled()
    for (const pause of [1000, 2000, 4000]) await clock.turn(pause)
    expect(await life).toBe(1)
    expect(counted.slice(2)).toEqual(['cleaned failed', 'cleaned succeed'])
    expect(done.slice(4)).toEqual(['clean a', 'clean a', 'clean a', 'clean a', 'clean b'])
  })

  it('cleans and injects in turns when it pulses, and is ready all the time', async () => {
    const { life, done, clock, signal, counted } = born({ pulse: { activeMs: 1000, dormantMs: 500 } })
    await settled()
    await clock.turn(1000)
    expect(done.slice(3)).toEqual(['clean a'])
    await clock.turn(500)
    expect(done.slice(4)).toEqual(['inject a'])
    await clock.turn(1000)
    signal()
    expect(await life).toBe(0)
    expect(done.slice(5)).toEqual(['clean a', 'clean a', 'finalizer'])
    expect(done.filter((one) => one === 'ready')).toHaveLength(1)
    expect(counted).toEqual([
      ...['injected succeed', 'cleaned_for_reinjection succeed', 'reinjected succeed'],
      ...['cleaned_for_reinjection succeed', 'cleaned succeed'],
    ])
  })

  it('counts what it could not do again', async () => {
    let injected = 0
    const injects = async () => {
      injected += 1
      if (injected === 2) await failing()
    }
    const { life, signal, restart, counted } = born({}, [injection('a', { injects, cleans: failingTimes(1) })])
    await settled()
    restart()
    await settled()
    signal()
    expect(await life).toBe(0)
    expect(counted).toEqual([
      ...['injected succeed', 'cleaned_for_reinjection failed', 'reinjected failed', 'cleaned succeed'],
    ])
  })

  it('follows a target that was started again', async () => {
    const { life, done, signal, restart } = born()
    await settled()
    restart()
    await settled()
    expect(done.slice(3)).toEqual(['clean a', 'inject a'])
    restart()
    await settled()
    expect(done.slice(5)).toEqual(['clean a', 'inject a'])
    signal()
    await life
  })

  it('leaves a target alone that was started again while it is dormant', async () => {
    const { life, done, clock, signal, restart } = born({ pulse: { activeMs: 1000, dormantMs: 5000 } })
    await settled()
    await clock.turn(1000)
    restart()
    await settled()
    expect(done.slice(3).filter((one) => one === 'inject a')).toEqual([])
    await clock.turn(5000)
    expect(done.at(-1)).toBe('inject a')
    signal()
    await life
  })

  it('does not repeat what is done once', async () => {
    const { life, done, clock, signal, restart } = born({
      isRepeatable: false,
      pulse: { activeMs: 1000, dormantMs: 500 },
    })
    await settled()
    restart()
    await clock.turn(5000)
    expect(done).toEqual(['inject a', 'ready', 'release'])
    signal()
    await life
  })

  it('ends well although the finalizer cannot be taken off', async () => {
    const { life, signal, failures } = born({}, [injection('a')], false, { takeOffFinalizer: failing })
    await settled()
    signal()
    expect(await life).toBe(0)
    expect(failures).toEqual(['the finalizer of this pod could not be taken off'])
  })
})

describe('D15: an injector that fails a node', () => {
  const ENABLED = "write '1' to /sysrq"
  const FAILED = "write 'c' to /trigger"
  const PUT_BACK = "write '176' to /sysrq"
  const once = { isRepeatable: false }

  it('is ready once it is armed, so that it is known before the node is gone', async () => {
    const { life, done, clock, signal, counted } = born(once, [nodeFailure()])
    await settled()
    expect(done).toEqual([ENABLED, 'ready', 'release'])
    await clock.turn(30_999)
    expect(done).not.toContain(FAILED)
    await clock.turn(1)
    expect(done.slice(3)).toEqual([FAILED])
    signal()
    expect(await life).toBe(0)
    expect(counted).toEqual(['injected succeed', 'cleaned succeed'])
  })

  it('spares the node that it was told to leave alone while it waited, and puts back what it had armed', async () => {
    const { life, done, clock, signal, failures } = born(once, [nodeFailure()])
    await clock.turn(30_000)
    signal()
    expect(await life).toBe(0)
    await clock.turn(60_000)
    expect(done).toEqual([ENABLED, 'ready', 'release', PUT_BACK, 'finalizer'])
    expect(failures).toEqual([])
  })

  it('L4: spares the node when its deadline comes while it waits, also by a clock that is set', async () => {
    const early = born({ ...once, deadline: 1_020_000 }, [nodeFailure()])
    await settled()
    await early.clock.turn(20_000)
    expect(await early.life).toBe(0)
    const set = born({ ...once, deadline: 2_000_000 }, [nodeFailure()])
    await settled()
    set.clock.jump(1_000_000)
    await set.clock.turn(31_000)
    expect(await set.life).toBe(0)
    for (const { done } of [early, set]) expect(done).not.toContain(FAILED)
  })

  it('is not ready any more when the trigger cannot be pulled, and stays to be cleaned', async () => {
    const { life, done, clock, signal, failures, counted } = born(once, [nodeFailure({ fails: FAILED })])
    await settled()
    await clock.turn(31_000)
    expect(done).toEqual([ENABLED, 'ready', 'release', FAILED, 'unready'])
    expect(failures).toEqual(['not injected, though it was ready'])
    signal()
    expect(await life).toBe(0)
    expect(done.slice(5)).toEqual([PUT_BACK, 'finalizer'])
    expect(counted).toEqual(['injected succeed', 'injected failed', 'cleaned succeed'])
  })

  it('does not wait to pull what it could not arm', async () => {
    const { life, done, clock, signal } = born(once, [nodeFailure({ fails: ENABLED })])
    await settled()
    await clock.turn(31_000)
    expect(done).toEqual([ENABLED, 'release'])
    signal()
    await life
  })
})

type Making = (done: string[], clock: HandClock) => Injection

/** The real plan, by an executor that writes into no file. */
function nodeFailure({ fails }: { readonly fails?: string } = {}): Making {
  return (done, clock) =>
    createInjection({
      what: 'node-failure of node',
      prepare: () =>
        Promise.resolve({
          plan: planNodeFailure(
            { kind: 'node-failure', shutdown: false },
            { enable: '/sysrq', trigger: '/trigger' },
            '176',
          ),
        }),
      executor: {
        perform: async (command, _scope, until) => {
          if (command.do === 'wait') {
            await clock.sleep(command.ms, until)
            return
          }
          done.push(commandText(command))
          if (commandText(command) === fails) await failing()
        },
      },
      ...{ undoLog: undefined, proc: '/proc', pod: 'chaos-1', keyParts: ['node'] },
      log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    })
}

interface Behaviour {
  readonly injects?: (until: AbortSignal) => Promise<void>
  readonly cleans?: () => Promise<void>
}

function injection(name: string, { injects = succeeding, cleans = succeeding }: Behaviour = {}): Making {
  return (done) => ({
    ...{ key: name, what: name },
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

function born(
  parts: Partial<Life> = {},
  makings: readonly Making[] = [injection('a')],
  isTold = false,
  others: Partial<Life['actions']> = {},
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
  const life = live({
    injections: makings.map((making) => making(done, clock)),
    ...{ clock, end: ending.signal, deadline: undefined, notBefore: undefined, initialDelayMs: 0, pulse: undefined },
    isRepeatable: true,
    count: (what, isDone) => counted.push(`${what} ${isDone ? 'succeed' : 'failed'}`),
    log: {
      ...{ debug: () => undefined, info: () => undefined, warn: () => undefined },
      error: (message) => failures.push(message),
    },
    actions: {
      becomeReady: note('ready'),
      becomeUnready: note('unready'),
      releaseTarget: note('release'),
      takeOffFinalizer: note('finalizer'),
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

async function failing(): Promise<void> {
  await Promise.reject(new Error('it does not work'))
}

async function untilTold(until: AbortSignal): Promise<void> {
  await new Promise<void>((_, reject) => {
    until.addEventListener('abort', () => reject(new Error('told to end')), { once: true })
  })
}

function failingTimes(times: number): () => Promise<void> {
  let left = times
  return async () => {
    left -= 1
    if (left >= 0) await failing()
  }
}

function cleans(done: readonly string[]): number {
  return done.filter((one) => one === 'clean a').length
}
