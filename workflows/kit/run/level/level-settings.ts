// Settings of a controller in level mode: concurrency, task queue and retries. Pure; loop, dispatcher and journal read
// them. Each controller has its own, even if several controllers reconcile one kind. Source: docs/adr/0032.

import { nearest } from '../../kind/near-words.ts'

/** Limits of retries after retryable faults; an event wakes a pass at once. */
export interface RetryLimits {
  /** Delay after an object's first failure in milliseconds; each further failure in a row doubles it. Default 5. */
  readonly firstMs?: number
  /** Maximum delay in milliseconds. Default 1,000,000, which is 16 minutes and 40 seconds; at most a day. */
  readonly mostMs?: number
  /** Retries per second for all objects of a namespace, 0.01 to 1000. Default 10. */
  readonly perSecond?: number
  /** Retries of a namespace before `perSecond` delays further ones, 1 to 1000. Default 100. */
  readonly burst?: number
}

/** Settings of a controller; use the same in all workers. */
export interface LevelSettings {
  /**
   * Maximum number of concurrent passes of the controller in all workers together, 1 to 10,000. A pass counts while it waits for an own activity, a
   * `retry` or a `timeout`; it does not count after `again(ms)` or a fault. Default: the workers' capacity.
   */
  readonly passes?: number
  /**
   * Task queue of the controller's runs, shared with controllers of the same queue. A worker polls it separately, with the same capacity as for all
   * other queues together. Small letters, digits and `-`. Default: the common queue.
   */
  readonly queue?: string
  /** Retries of retryable failures. */
  readonly retries?: RetryLimits
  /**
   * When Events are recorded. `at once`: by a call of their own. `along`: before the effect of the pass's next call of another kind, or at its end.
   * This saves one call per Event, but an Event before an own activity or a wait inside of the pass is recorded after it. Default: at once.
   */
  readonly events?: 'at once' | 'along'
}

/** Defaults for level mode; job mode uses the same. */
export const DEFAULT_RETRIES: Required<RetryLimits> = { firstMs: 5, mostMs: 1_000_000, perSecond: 10, burst: 100 }

export function retryLimits(settings: LevelSettings | undefined): Required<RetryLimits> {
  return { ...DEFAULT_RETRIES, ...settings?.retries }
}

interface Range {
  readonly least: number
  readonly most: number
  readonly whole: boolean
}

const DAY_MS = 86_400_000
const RANGES: Readonly<Record<string, Range>> = {
  passes: { least: 1, most: 10_000, whole: true },
  'retries.firstMs': { least: 1, most: DAY_MS, whole: true },
  'retries.mostMs': { least: 1, most: DAY_MS, whole: true },
  'retries.perSecond': { least: 0.01, most: 1000, whole: false },
  'retries.burst': { least: 1, most: 1000, whole: true },
}

/** More than the time in which any retry budget becomes full again. */
export const LONGEST_REFILL_MS = DAY_MS + (1000 / 0.01) * 1000

const FIELDS = ['passes', 'queue', 'retries', 'events']
const WHEN: readonly unknown[] = ['at once', 'along']
const RETRY_FIELDS = Object.keys(DEFAULT_RETRIES)
// Part of a Temporal name, after a dot.
const QUEUE = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/

/** @throws a plain Error with the controller, the field, the found and the expected value. */
export function checkSettings(controller: string, settings: LevelSettings): void {
  const at = `controller ${controller}: settings`
  checkFields(at, settings, FIELDS)
  const { queue, retries, events } = settings
  if (queue !== undefined && !(typeof queue === 'string' && QUEUE.test(queue)))
    throw new Error(
      `${at}.queue: found ${shown(queue)}; expected at most 63 lower-case letters, digits and "-", with a letter first`,
    )
  if (events !== undefined && !WHEN.includes(events))
    throw new Error(`${at}.events: found ${shown(events)}; expected ${WHEN.map((one) => shown(one)).join(' or ')}`)
  if (retries !== undefined) checkFields(`${at}.retries`, retries, RETRY_FIELDS)
  for (const [path, range] of Object.entries(RANGES)) checkNumber(`${at}.${path}`, valueAt(settings, path), range)
  const { firstMs, mostMs } = retryLimits(settings)
  if (firstMs > mostMs)
    throw new Error(
      `${at}.retries.firstMs: found ${firstMs}; expected at most mostMs, which is ${mostMs}${retries?.mostMs === undefined ? ' by default' : ''}`,
    )
}

function checkFields(at: string, found: unknown, known: readonly string[]): void {
  if (typeof found !== 'object' || found === null || Array.isArray(found))
    throw new Error(`${at}: found ${shown(found)}; expected an object with ${known.join(', ')}`)
  const other = Object.keys(found).find((field) => !known.includes(field))
  if (other === undefined) return
  const meant = nearest(other, known)
  throw new Error(
    `${at}: unknown field ${other}; expected ${meant === undefined ? `one of ${known.join(', ')}` : `${meant}, or none`}`,
  )
}

function valueAt(settings: LevelSettings, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, field) => (value as Record<string, unknown> | undefined)?.[field], settings)
}

function checkNumber(at: string, value: unknown, { least, most, whole }: Range): void {
  if (value === undefined) return
  const isOne = typeof value === 'number' && (whole ? Number.isSafeInteger(value) : Number.isFinite(value))
  if (isOne && value >= least && value <= most) return
  throw new Error(
    `${at}: found ${shown(value)}; expected a ${whole ? 'whole ' : ''}number of at least ${least} and at most ${most}`,
  )
}

function shown(value: unknown): string {
  return typeof value === 'number' ? String(value) : JSON.stringify(value)
}
