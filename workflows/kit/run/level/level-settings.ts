// How a controller in level mode is run, as data: how many of its passes at once, on which task queue, and how its failures are tried again. Pure: the
// loop, the dispatcher and the journal read it. Each controller has its own, also where several are of one kind. Source: docs/adr/0032.

import { nearest } from '../../kind/near-words.ts'

export interface RetryLimits {
  /** Wait after the first failure of an object, in milliseconds; each further one in a row doubles it. Default 5. */
  readonly firstMs?: number
  /** What no wait of an object exceeds, in milliseconds. Default 1,000,000, which is 16 minutes and 40 seconds; a day at most. */
  readonly mostMs?: number
  /** How many objects of one namespace are tried again in a second. Default 10. */
  readonly perSecond?: number
  /** How many objects of one namespace are tried again at once, before `perSecond` holds them up. Default 100. */
  readonly burst?: number
}

export interface LevelSettings {
  /**
   * How many passes of the controller are under way at the same time, in all workers together; one that waits for an activity of its own is under way.
   * Default: as many as the workers have room for.
   */
  readonly passes?: number
  /**
   * Name of a task queue that the controller's runs have to themselves, or with the controllers that give the same name. A worker serves it apart, with
   * as much room as it has for all others together. Small letters, digits and `-`. Default: the queue of all controllers.
   */
  readonly queue?: string
  /** How failures that may pass are tried again. */
  readonly retries?: RetryLimits
  /**
   * When events are told. `along`: with the pass's next call of another kind, before what that does, or with its end; each costs a call less, and one that
   * is told before an activity of the controller's own, or a wait inside of the pass, comes after it. Default: at once.
   */
  readonly events?: 'at once' | 'along'
}

/** As `LevelSettings` has them; those of controllers in mode job, too. */
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

/** Longer than any budget of retries takes to be whole again: all that may be owed, and the burst. */
export const LONGEST_REFILL_MS = DAY_MS + (1000 / 0.01) * 1000

const FIELDS = ['passes', 'queue', 'retries', 'events']
const WHEN: readonly unknown[] = ['at once', 'along']
const RETRY_FIELDS = Object.keys(DEFAULT_RETRIES)
// It becomes a part of a name in Temporal, behind a dot.
const QUEUE = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/

/** @throws a plain Error that names the controller and the field, with what was found and what was expected. */
export function checkSettings(controller: string, settings: LevelSettings): void {
  const at = `controller ${controller}: settings`
  checkFields(at, settings, FIELDS)
  const { queue, retries, events } = settings
  if (queue !== undefined && !(typeof queue === 'string' && QUEUE.test(queue)))
    throw new Error(
      `${at}.queue is ${shown(queue)}, expected small letters, digits and "-", with a letter first, at most 63 characters`,
    )
  if (events !== undefined && !WHEN.includes(events))
    throw new Error(`${at}.events is ${shown(events)}, expected ${WHEN.map((one) => shown(one)).join(' or ')}`)
  if (retries !== undefined) checkFields(`${at}.retries`, retries, RETRY_FIELDS)
  for (const [path, range] of Object.entries(RANGES)) checkNumber(`${at}.${path}`, valueAt(settings, path), range)
  const { firstMs, mostMs } = retryLimits(settings)
  if (firstMs > mostMs)
    throw new Error(
      `${at}.retries.firstMs is ${firstMs}, expected at most mostMs, which is ${mostMs}${retries?.mostMs === undefined ? ' by default' : ''}`,
    )
}

function checkFields(at: string, found: unknown, known: readonly string[]): void {
  if (typeof found !== 'object' || found === null || Array.isArray(found))
    throw new Error(`${at} is ${shown(found)}, expected an object with ${known.join(', ')}`)
  const other = Object.keys(found).find((field) => !known.includes(field))
  if (other === undefined) return
  const meant = nearest(other, known)
  throw new Error(
    `${at} has the field ${other}, expected ${meant === undefined ? `one of ${known.join(', ')}` : `${meant}, or none`}`,
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
    `${at} is ${shown(value)}, expected a ${whole ? 'whole ' : ''}number of at least ${least} and at most ${most}`,
  )
}

function shown(value: unknown): string {
  return typeof value === 'number' ? String(value) : JSON.stringify(value)
}
