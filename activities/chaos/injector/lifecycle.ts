// The life cycle of an injector, the same for all kinds. Source: seeds/chaos-controller.txt "Injector lifecycle",
// spec/chaos.md 3.4 and 3.5.
//
// L1. A failed injection ends nothing: completed injections wait for their clean-up.
// L2. At its end, for any reason, the injector cleans up all injections, each with up to four tries.
// L3. The injector is ready if and only if all injections have succeeded.
// L4. After the deadline on either clock (clock.ts, C2) nothing is injected or injected again.
// L5. Effects that prevent any later report happen after readiness (`Injection.finish`), unless the end has come. If
//   they fail, the injector is not ready any more and waits for its end, as after a failed injection.
// L6. A failed repetition (`repeat`) is retried after a growing pause until it succeeds, the next pulse, the next
//   restart of the target, or the end. Each retry first cleans up what the previous try has injected.

import { type Clock, type Deadline, deadlineAt, untilTime } from './clock.ts'
import { type Log, textOf } from './log.ts'
import type { Injection } from './injection.ts'

export interface Lifecycle {
  readonly injections: readonly Injection[]
  readonly clock: Clock
  readonly log: Log
  /** Aborted by a signal. */
  readonly end: AbortSignal
  /** Milliseconds since the epoch, like the next field; undefined: only a signal ends it. */
  readonly deadline: number | undefined
  readonly notBefore: number | undefined
  readonly initialDelayMs: number
  readonly pulse: { readonly activeMs: number; readonly dormantMs: number } | undefined
  /** Whether it may inject again, after a pulse or a restart of a container. */
  readonly isRepeatable: boolean
  readonly count: Count
  readonly actions: LifecycleActions
}

/** The counted results of each injection. Source: spec/chaos.md 2.15. */
export type Counted = 'injected' | 'reinjected' | 'cleaned' | 'cleaned_for_reinjection'

export type Count = (what: Counted, isDone: boolean) => void

export interface LifecycleActions {
  /** Creates the readiness file. */
  readonly becomeReady: () => Promise<void>
  /** Removes the readiness file. */
  readonly becomeUnready: () => Promise<void>
  /** Releases a pod whose containers wait for the disruption. */
  readonly releaseTarget: (until: AbortSignal) => Promise<void>
  /** Resolves after a restart of the target's containers; never without a target to watch. */
  readonly targetRestart: (until: AbortSignal) => Promise<void>
  /** Called after a complete clean-up, or when nothing was injected. */
  readonly removeFinalizer: () => Promise<void>
}

// Source: seeds/chaos-controller.txt, step 4: "retry up to 3 times".
const CLEAN_RETRIES = 3
const FIRST_BACKOFF_MS = 1000
/** L6. Retries of a repetition are not limited in number. */
const MAX_BACKOFF_MS = 30_000

/** Runs until its end. Returns the exit code: 0 after a complete clean-up, 1 after a failure. */
export async function runLifecycle(life: Lifecycle): Promise<0 | 1> {
  const over = new AbortController()
  const end = (reason: string) => over.abort(reason)
  const onSignal = () => end('signal')
  if (life.end.aborted) onSignal()
  else life.end.addEventListener('abort', onSignal, { once: true })
  const deadline = life.deadline === undefined ? undefined : deadlineAt(life.deadline, life.clock)
  if (deadline !== undefined) void endAt(deadline, over)
  let code: 0 | 1 = 0
  try {
    await injectAndWait(life, { signal: over.signal, isOver: endCheck(deadline, over) })
    life.log.info('ending', { reason: String(over.signal.reason) })
  } catch (error) {
    life.log.error('ending after a failure', { error: textOf(error) })
    code = 1
  }
  life.end.removeEventListener('abort', onSignal)
  end('end')
  if (!(await cleanAll(life))) return 1
  await releasePod(life.actions, life.log)
  return code
}

/** Removes the finalizer of the injector's pod, because nothing is left to undo. A failure is only logged. */
export async function releasePod(actions: Pick<LifecycleActions, 'removeFinalizer'>, log: Log): Promise<void> {
  await actions.removeFinalizer().catch((error: unknown) => {
    log.error('the finalizer of this pod could not be removed', { error: textOf(error) })
  })
}

async function endAt(deadline: Deadline, over: AbortController): Promise<void> {
  await deadline.passed(over.signal)
  over.abort('deadline')
}

/** The end for any reason. */
interface End {
  readonly signal: AbortSignal
  /** Also reads the clocks. */
  readonly isOver: () => boolean
}

/** L4 */
function endCheck(deadline: Deadline | undefined, over: AbortController): End['isOver'] {
  return () => {
    if (deadline?.isOver() === true) over.abort('deadline')
    return over.signal.aborted
  }
}

async function injectAndWait(life: Lifecycle, { signal: over, isOver }: End): Promise<void> {
  const { clock, actions, log } = life
  await untilTime(life.notBefore ?? 0, clock, over)
  if (!over.aborted) await clock.sleep(life.initialDelayMs, over)
  if (isOver()) return
  const isInjected = (await injectAll(life, life.injections, { over, counted: 'injected' })).length === 0
  if (isInjected) {
    await actions.becomeReady()
    log.info('injected')
  }
  await actions.releaseTarget(over).catch((error: unknown) => {
    log.error('the waiting init container could not be released', { error: textOf(error) })
  })
  const isDone = isInjected && (await finishAll(life, { signal: over, isOver }))
  if (isDone && life.isRepeatable) await repeat(life, { signal: over, isOver })
  await aborted(over)
}

/** Tries every injection. Returns those that failed. */
async function injectAll(
  { log, count }: Lifecycle,
  injections: readonly Injection[],
  { over, counted }: { readonly over: AbortSignal; readonly counted: 'injected' | 'reinjected' },
): Promise<readonly Injection[]> {
  const failed: Injection[] = []
  for (const injection of injections) {
    try {
      await injection.inject(over)
      count(counted, true)
    } catch (error) {
      count(counted, false)
      failed.push(injection)
      log.error('not injected', { what: injection.what, error: textOf(error) })
    }
  }
  return failed
}

/** L5. Returns whether everything has succeeded. */
async function finishAll(
  { injections, actions, log, count }: Lifecycle,
  { signal: over, isOver }: End,
): Promise<boolean> {
  for (const { what, finish } of injections) {
    try {
      await finish(over, isOver)
    } catch (error) {
      if (over.aborted) {
        log.info('called off', { what })
        return false
      }
      count('injected', false)
      log.error('the injection failed', { what, error: textOf(error) })
      await actions.becomeUnready()
      return false
    }
  }
  return true
}

type Trigger = 'pulse' | 'restart' | 'retry'

/** L6 */
interface Retry {
  readonly failed: readonly Injection[]
  /** The number of retries before this one. */
  readonly retries: number
  /** By the monotonic clock. */
  readonly at: number
}

/** Pulses by the monotonic clock, and injects into restarted containers, until the end. */
async function repeat(life: Lifecycle, { signal: over, isOver }: End): Promise<void> {
  const { pulse, clock, log, injections } = life
  let isActive = true
  let turnsAt = pulse === undefined ? undefined : clock.steady() + pulse.activeMs
  let retry: Retry | undefined
  // The watch continues during pulses and retries, so that no restart is missed.
  let restart = nextRestart(life, over)
  for (;;) {
    const trigger = await nextTrigger({ clock, restart, pulse: turnsAt, retry: retry?.at }, over)
    if (isOver()) break
    if (trigger === 'restart') {
      log.info('a container of the target was restarted')
      restart = nextRestart(life, over)
    } else if (trigger === 'pulse' && pulse !== undefined) {
      isActive = !isActive
      turnsAt = clock.steady() + (isActive ? pulse.activeMs : pulse.dormantMs)
    }
    if (!isActive) {
      await cleanForReinjection(life, injections)
      retry = undefined
    } else if (trigger === 'retry' && retry !== undefined) {
      const failed = await reinject(life, retry.failed, { over, trigger })
      retry = nextRetry(life, failed, retry.retries + 1)
    } else retry = nextRetry(life, await reinject(life, injections, { over, trigger }), 0)
  }
  await restart
}

async function nextRestart({ actions, log }: Lifecycle, over: AbortSignal): Promise<void> {
  try {
    await actions.targetRestart(over)
  } catch (error) {
    log.error('the watch of the target ended; restarted containers will not be injected again', {
      error: textOf(error),
    })
    await aborted(over)
  }
}

function nextRetry({ clock, log }: Lifecycle, failed: readonly Injection[], retries: number): Retry | undefined {
  if (failed.length === 0) return undefined
  const pauseMs = Math.min(FIRST_BACKOFF_MS * 2 ** retries, MAX_BACKOFF_MS)
  log.warn('retrying the injection', { what: failed.map(({ what }) => what), retries, pauseMs })
  return { failed, retries, at: clock.steady() + pauseMs }
}

/** Cleans up, except before a pulse, and injects. Returns the injections whose clean-up or injection failed. */
async function reinject(
  life: Lifecycle,
  injections: readonly Injection[],
  { over, trigger }: { readonly over: AbortSignal; readonly trigger: Trigger },
): Promise<readonly Injection[]> {
  const unclean = trigger === 'pulse' ? [] : await cleanForReinjection(life, injections)
  // Injecting would do nothing while the previous injection exists (I2 of injection.ts).
  const clean = injections.filter((one) => !unclean.includes(one))
  return [...unclean, ...(await injectAll(life, clean, { over, counted: 'reinjected' }))]
}

interface Triggers {
  readonly clock: Clock
  readonly restart: Promise<void>
  /** By the monotonic clock, like the next field. */
  readonly pulse: number | undefined
  readonly retry: number | undefined
}

/** Returns any trigger after the end. */
async function nextTrigger({ clock, restart, ...times }: Triggers, over: AbortSignal): Promise<Trigger> {
  const triggered = new AbortController()
  const until = AbortSignal.any([over, triggered.signal])
  const timers = (['pulse', 'retry'] as const).flatMap((trigger) => {
    const at = times[trigger]
    return at === undefined ? [] : [clock.sleep(Math.max(0, at - clock.steady()), until).then(() => trigger)]
  })
  const trigger = await Promise.race([restart.then(() => 'restart' as const), ...timers])
  triggered.abort()
  await Promise.all(timers)
  return trigger
}

/** Returns the injections whose clean-up failed. */
async function cleanForReinjection(
  { log, count }: Lifecycle,
  injections: readonly Injection[],
): Promise<readonly Injection[]> {
  const failed: Injection[] = []
  for (const injection of injections)
    await injection.clean().then(
      () => count('cleaned_for_reinjection', true),
      (error: unknown) => {
        count('cleaned_for_reinjection', false)
        failed.push(injection)
        log.error('the clean-up failed; retrying', { what: injection.what, error: textOf(error) })
      },
    )
  return failed
}

/** Cleans up every injection, also after failures. Returns whether all clean-ups have succeeded. */
async function cleanAll(life: Lifecycle): Promise<boolean> {
  let isClean = true
  for (const injection of life.injections) {
    const isDone = await cleanWithRetries(injection, life)
    life.count('cleaned', isDone)
    isClean = isDone && isClean
  }
  if (isClean) life.log.info('cleaned')
  return isClean
}

async function cleanWithRetries({ what, clean }: Injection, { clock, log }: Lifecycle): Promise<boolean> {
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
