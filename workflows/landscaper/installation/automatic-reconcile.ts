// Automatic jobs: the time of the next one, and the status fields of its first write. Pure function of the object, so that a lost process loses
// nothing.
// Source: spec/landscaper.md 2.12.
//
//   R1. The first retry after a failure starts at once. Later retries start after the interval, or at the next time of `cronSpec`, counted from the
//       start of the previous one, at most `numberOfReconciles` times.
//   R2. After a success, the job starts after the interval, or at the next time of `cronSpec`, counted from the last automatic job, otherwise from
//       the end of the last job.
//   R3. The count restarts with another generation, with a success after failures and vice versa, and with a requested job.
//   R4. Several missed times lead to one job.

import { RECONCILE_REASON_ANNOTATION } from '../contract.ts'
import { annotation, parseDuration, path, textAt, valueAt } from '../../kit/index.ts'
import { cronProblem, nextTime } from '../cron.ts'
import { fieldsOf, textOf } from '../json-fields.ts'

const COUNTED = path('status.automaticReconcileStatus')
const DEFAULT_MS = { succeededReconcile: 24 * 3_600_000, failedReconcile: 5 * 60_000 } as const
/** Minimum pause between two automatic jobs, so that other work gets time. */
const LEAST_MS = 1000
/** The reason that Landscaper writes for its own requests. */
const RETRY = 'retry'
const FAILED: readonly unknown[] = ['Failed', 'DeleteFailed']

export type Automatic =
  | {
      readonly cause: string
      /** Milliseconds since 1970. */
      readonly notBefore: number
      readonly onBegin: (now: string) => { readonly automaticReconcileStatus: object }
    }
  | { readonly none: string }

/** The next automatic job of an idle root Installation; undefined if the spec requests none. Accepts objects and projections. */
export function automaticReconcile(object: object): Automatic | undefined {
  const asked = settingsOf(object)
  if (asked === undefined) return undefined
  const { block, onFailed, so, generation } = asked
  const { count, last } = countOf(object, asked)
  const most = onFailed ? so['numberOfReconciles'] : undefined
  if (typeof most === 'number' && count >= most) return { none: `Pawl retried it ${count} times` }
  const notBefore = onFailed && last === undefined ? 0 : dueAfter(last ?? endedAt(object), so, DEFAULT_MS[block])
  if (typeof notBefore === 'string') return { none: `spec.automaticReconcile.${block}.${notBefore}` }
  const numberOfReconciles = onFailed ? count + 1 : 0
  return {
    cause: onFailed ? 'automatic reconcile after a failure' : 'automatic reconcile',
    notBefore,
    onBegin: (now) => ({
      automaticReconcileStatus: { generation, onFailed, lastReconcileTime: now, numberOfReconciles },
    }),
  }
}

interface Settings {
  readonly block: keyof typeof DEFAULT_MS
  readonly onFailed: boolean
  /** The settings of the block. */
  readonly so: Readonly<Record<string, unknown>>
  readonly generation: unknown
}

function settingsOf(object: object): Settings | undefined {
  const phase = valueAt(object, path('status.phase'))
  const onFailed = FAILED.includes(phase)
  if (!onFailed && phase !== 'Succeeded') return undefined
  const block = onFailed ? 'failedReconcile' : 'succeededReconcile'
  const said = fieldsOf(valueAt(object, path('spec.automaticReconcile')))[block]
  if (said === undefined || said === null) return undefined
  const generation = valueAt(object, path('metadata.generation'))
  // The spec was edited, and no user has requested the job.
  if (generation !== valueAt(object, path('status.observedGeneration'))) return undefined
  return { block, onFailed, so: fieldsOf(said), generation }
}

/** The number of automatic jobs for this generation and result (R3), and the start of the last one. */
function countOf(
  object: object,
  { generation, onFailed }: Settings,
): { readonly count: number; readonly last?: number } {
  const counted = fieldsOf(valueAt(object, COUNTED))
  if (counted['generation'] !== generation || (counted['onFailed'] === true) !== onFailed) return { count: 0 }
  const last = timeOf(counted['lastReconcileTime'])
  return { count: numberOf(counted['numberOfReconciles']), ...(last !== undefined && { last }) }
}

/** The status fields of the first write of a requested job (R3). */
export function resetCount(object: object): { readonly onBegin?: () => { readonly automaticReconcileStatus: null } } {
  const isRetry = textAt(object, annotation(RECONCILE_REASON_ANNOTATION)) === RETRY
  if (isRetry || valueAt(object, COUNTED) === undefined) return {}
  return { onBegin: () => ({ automaticReconcileStatus: null }) }
}

/** In milliseconds since 1970; a text describes the defect. */
function dueAfter(fromMs: number, so: Readonly<Record<string, unknown>>, defaultMs: number): number | string {
  const cron = textOf(so['cronSpec'])
  if (cron !== '') {
    const problem = cronProblem(cron)
    const next = problem === undefined ? nextTime(cron, fromMs) : undefined
    return (
      next ??
      `cronSpec: ${problem === undefined ? 'no time matches' : `found ${problem}`}; expected a schedule such as "0 4 * * *"`
    )
  }
  const interval = textOf(so['interval'])
  const ms = interval === '' ? defaultMs : parseDuration(interval)
  if (ms === undefined) return 'interval: not a duration; expected one such as 5m'
  return fromMs + Math.max(LEAST_MS, ms === 'none' ? 0 : ms)
}

/** A status that another controller wrote may lack the time: then the job is due. */
function endedAt(object: object): number {
  return timeOf(valueAt(object, path('status.transitionTimes.finishedTime'))) ?? 0
}

function timeOf(value: unknown): number | undefined {
  // eslint-disable-next-line no-restricted-globals -- Parses a text; does not read the clock.
  const time = typeof value === 'string' ? Date.parse(value) : NaN
  return Number.isNaN(time) ? undefined : time
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}
