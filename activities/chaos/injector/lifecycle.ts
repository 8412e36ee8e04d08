// The life of an injector, the same for all kinds. Source: seeds/chaos-controller.txt "Injector lifecycle", spec/chaos.md 3.4 and 3.5.
//
//   L1. A failed injection ends nothing: what has been done waits to be cleaned.
//   L2. However and whenever it ends, it cleans once, all injections, each up to four times.
//   L3. It is ready when all injections have succeeded, and only then.
//   L4. After its deadline nothing is injected, also not again, whichever clock says that it has come (clock.ts, C2).
//   L5. What nobody would be left to tell of is done when it is ready (`Injection.finish`), unless its end has come by then. When that fails it is not ready
//       any more, and stays, as after an injection that has failed.

import { type Clock, type Deadline, deadlineAt, untilTime } from './clock.ts'
import { type Log, textOf } from './log.ts'
import type { Injection } from './one-injection.ts'

export interface Life {
  readonly injections: readonly Injection[]
  readonly clock: Clock
  readonly log: Log
  /** Aborted by a signal. */
  readonly end: AbortSignal
  /** Milliseconds since 1970, as those below; undefined: only a signal ends it. */
  readonly deadline: number | undefined
  readonly notBefore: number | undefined
  readonly initialDelayMs: number
  readonly pulse: { readonly activeMs: number; readonly dormantMs: number } | undefined
  /** Whether it may be injected again, after a pulse or into a container that was started again. */
  readonly isRepeatable: boolean
  readonly count: Count
  readonly actions: LifeActions
}

/** What is counted of each injection, whether it was done or failed. Source: spec/chaos.md 2.15. */
export type Counted = 'injected' | 'reinjected' | 'cleaned' | 'cleaned_for_reinjection'

export type Count = (what: Counted, isDone: boolean) => void

export interface LifeActions {
  /** Makes the injector ready to those who look at it. */
  readonly becomeReady: () => Promise<void>
  /** Takes that back. */
  readonly becomeUnready: () => Promise<void>
  /** Lets the containers of a pod start that waits to be disrupted before. */
  readonly releaseTarget: (until: AbortSignal) => Promise<void>
  /** Resolves when containers of the target have been started again, after it looks at those; never without a target to watch. */
  readonly targetRestart: (until: AbortSignal) => Promise<void>
  /** After a clean end. */
  readonly takeOffFinalizer: () => Promise<void>
}

// Source: seeds/chaos-controller.txt, step 4: "retry up to 3 times".
const CLEAN_RETRIES = 3
const FIRST_BACKOFF_MS = 1000

/** Lives until it is told to end. Returns the exit code: 0 when all is cleaned, else 1. */
export async function live(life: Life): Promise<0 | 1> {
  const over = new AbortController()
  const end = (reason: string) => over.abort(reason)
  const onSignal = () => end('signal')
  if (life.end.aborted) onSignal()
  else life.end.addEventListener('abort', onSignal, { once: true })
  const deadline = life.deadline === undefined ? undefined : deadlineAt(life.deadline, life.clock)
  if (deadline !== undefined) void endAt(deadline, over)
  try {
    await injectAndWait(life, { signal: over.signal, isOver: isOverBy(deadline, over) })
    life.log.info('ending', { reason: String(over.signal.reason) })
  } finally {
    life.end.removeEventListener('abort', onSignal)
    end('end')
  }
  if (!(await cleanAll(life))) return 1
  await life.actions.takeOffFinalizer().catch((error: unknown) => {
    life.log.error('the finalizer of this pod could not be taken off', { error: textOf(error) })
  })
  return 0
}

async function endAt(deadline: Deadline, over: AbortController): Promise<void> {
  await deadline.comes(over.signal)
  over.abort('deadline')
}

/** Its end, from whatever side. */
interface Over {
  readonly signal: AbortSignal
  /** Looks at the clocks as well. */
  readonly isOver: () => boolean
}

/** L4 */
function isOverBy(deadline: Deadline | undefined, over: AbortController): Over['isOver'] {
  return () => {
    if (deadline?.isOver() === true) over.abort('deadline')
    return over.signal.aborted
  }
}

async function injectAndWait(life: Life, { signal: over, isOver }: Over): Promise<void> {
  const { clock, actions, log } = life
  await untilTime(life.notBefore ?? 0, clock, over)
  if (!over.aborted) await clock.sleep(life.initialDelayMs, over)
  if (isOver()) return
  const isInjected = await injectAll(life, over, 'injected')
  if (isInjected) {
    await actions.becomeReady()
    log.info('injected')
  }
  await actions.releaseTarget(over).catch((error: unknown) => {
    log.error('the target that waits could not be released', { error: textOf(error) })
  })
  const isDone = isInjected && (await finishAll(life, { signal: over, isOver }))
  if (isDone && life.isRepeatable) await repeat(life, { signal: over, isOver })
  await aborted(over)
}

/** Every injection is tried. */
async function injectAll(
  { injections, log, count }: Life,
  over: AbortSignal,
  counted: 'injected' | 'reinjected',
): Promise<boolean> {
  let isInjected = true
  for (const { what, inject } of injections) {
    try {
      await inject(over)
      count(counted, true)
    } catch (error) {
      count(counted, false)
      isInjected = false
      log.error('not injected', { what, error: textOf(error) })
    }
  }
  return isInjected
}

/** L5. Returns whether nothing has failed. */
async function finishAll({ injections, actions, log, count }: Life, { signal: over, isOver }: Over): Promise<boolean> {
  for (const { what, finish } of injections) {
    try {
      await finish(over, isOver)
    } catch (error) {
      if (over.aborted) {
        log.info('called off', { what })
        return false
      }
      count('injected', false)
      log.error('not injected, though it was ready', { what, error: textOf(error) })
      await actions.becomeUnready()
      return false
    }
  }
  return true
}

type Turn = 'pulse' | 'restart'

/** Pulses, by the steady clock, and follows the target to its next containers, until all is over. */
async function repeat(life: Life, { signal: over, isOver }: Over): Promise<void> {
  const { pulse, clock, log } = life
  let isActive = true
  let turnsAt = pulse === undefined ? undefined : clock.steady() + pulse.activeMs
  for (;;) {
    const turn = await nextTurn(life, turnsAt, over)
    if (turn === undefined || isOver()) return
    if (turn === 'pulse' && pulse !== undefined) {
      isActive = !isActive
      turnsAt = clock.steady() + (isActive ? pulse.activeMs : pulse.dormantMs)
    } else log.info('the target was started again')
    if (isActive && turn === 'restart') await cleanOnce(life)
    if (isActive) await injectAll(life, over, 'reinjected')
    else await cleanOnce(life)
  }
}

async function nextTurn(life: Life, turnsAt: number | undefined, over: AbortSignal): Promise<Turn | undefined> {
  const turned = new AbortController()
  const until = AbortSignal.any([over, turned.signal])
  const turns: Promise<Turn>[] = [life.actions.targetRestart(until).then(() => 'restart' as const)]
  if (turnsAt !== undefined)
    turns.push(life.clock.sleep(Math.max(0, turnsAt - life.clock.steady()), until).then(() => 'pulse' as const))
  const turn = await Promise.race([...turns, aborted(over).then(() => undefined)])
  turned.abort()
  await Promise.all(turns)
  return over.aborted ? undefined : turn
}

async function cleanOnce({ injections, log, count }: Life): Promise<void> {
  for (const { what, clean } of injections)
    await clean().then(
      () => count('cleaned_for_reinjection', true),
      (error: unknown) => {
        count('cleaned_for_reinjection', false)
        log.error('not cleaned; it is tried again at the end', { what, error: textOf(error) })
      },
    )
}

/** Every injection is cleaned as well as can be. Returns whether all of them are. */
async function cleanAll(life: Life): Promise<boolean> {
  let isClean = true
  for (const injection of life.injections) {
    const isDone = await cleanStubbornly(injection, life)
    life.count('cleaned', isDone)
    isClean = isDone && isClean
  }
  if (isClean) life.log.info('cleaned')
  return isClean
}

async function cleanStubbornly({ what, clean }: Injection, { clock, log }: Life): Promise<boolean> {
  for (let retries = 0; ; retries += 1) {
    try {
      await clean()
      return true
    } catch (error) {
      log.error('not cleaned', { what, retries, error: textOf(error) })
      if (retries === CLEAN_RETRIES) return false
      await clock.sleep(FIRST_BACKOFF_MS * 2 ** retries, new AbortController().signal)
    }
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
