// `pawl chaos stop`: sets an emergency stop with the user's own rights and follows the end of the existing Disruptions.
//
// E1. The command writes the stop before it reads anything except the place, so the stop works even if the user may
//   read nothing.
// E2. Disruptions that are created meanwhile inject nothing, so the command does not wait for them.

import { setTimeout as sleep } from 'node:timers/promises'

import { durationMs, EXPECTED_DURATION } from '../../../workflows/chaos/go-duration.ts'
import { type CommandDone, type CommandStart, CommandUsageError } from '../../command.ts'
import { KubeError } from '../../kube/kube-error.ts'
import { type DisruptionSummary, readDisruptions, slowLine, stuckLines } from './disruptions.ts'
import { placeOf, readStops, type StopPlace, writeStop } from './stop-place.ts'

/** The exit code when a user has to act, as with `pawl delete`. */
export const STUCK = 3
const TOO_LATE = 4

const TIMEOUT_MS = 300_000
const POLL_MS = 500

export async function run(start: CommandStart): Promise<CommandDone> {
  const { kube, given, who, why, progress } = start
  const timeoutMs = timeoutIn(given['timeout'])
  const place = await placeOf(start)
  const stops = await readStops(kube, place)
  const without = stops.flatMap(({ name, stop }) => (stop === undefined ? [name] : []))
  const before = without.length === 0 ? stops[0]?.stop : undefined
  const stop = why === undefined ? `by ${who}` : `${why} (${who})`
  // E1
  await writeStop(kube, without, stop)
  progress(
    before === undefined
      ? `${place.title} is stopped by ${who}: its Disruptions end, and no Disruption begins`
      : `${place.title} was already stopped${before === '' ? '' : `: ${before}`}`,
  )
  const found = await awaitEnd(start, place, timeoutMs)
  const data = {
    namespace: place.namespace ?? null,
    asked: before === undefined ? 'asked' : 'asked before',
    by: who,
    why: why ?? null,
    gone: found.gone,
    stuck: found.stuck,
    left: found.slow,
  }
  return {
    lines: [
      ...linesOf(found, timeoutMs, place),
      ...(place.note === undefined ? [] : [place.note]),
      `to allow Disruptions again, run: pawl chaos resume ${place.flags}`,
    ],
    data,
    exitCode: exitCodeOf(found, timeoutMs),
  }
}

/** The state of the Disruptions that existed at the start. */
interface EndReport {
  /** Their titles. */
  readonly gone: readonly string[]
  readonly stuck: readonly DisruptionSummary[]
  /** Neither deleted nor stuck yet. */
  readonly slow: readonly DisruptionSummary[]
}

/** Waits for their ends and reports progress. */
async function awaitEnd({ kube, progress }: CommandStart, place: StopPlace, timeoutMs: number): Promise<EndReport> {
  const deadline = performance.now() + timeoutMs
  const read = async () => await readDisruptions(kube, place.namespace)
  const initial = await read().catch((error: unknown) => {
    if (!(error instanceof KubeError)) throw error
    throw new Error(
      `the emergency stop of ${place.title} is set, but the Disruptions that it ends cannot be read: ${error.message}`,
      {
        cause: error,
      },
    )
  })
  let lastLine = ''
  for (let current = initial; ;) {
    const ends = endReportOf(initial, current)
    const line = progressLine(initial.length, ends)
    if (line !== lastLine && ends.slow.length > 0) progress(line)
    lastLine = line
    if (ends.slow.length === 0 || performance.now() >= deadline) return ends
    await sleep(POLL_MS)
    current = await read().catch((error: unknown) => {
      if (!isTemporary(error)) throw error
      progress(`${error.message}; retrying`)
      return current
    })
  }
}

function endReportOf(initial: readonly DisruptionSummary[], present: readonly DisruptionSummary[]): EndReport {
  const byUid = new Map(present.map((one) => [one.uid, one]))
  // E2
  const remaining = initial.flatMap(({ uid }) => byUid.get(uid) ?? [])
  return {
    gone: initial.filter(({ uid }) => !byUid.has(uid)).map(({ title }) => title),
    stuck: remaining.filter(({ isStuck }) => isStuck),
    slow: remaining.filter(({ isStuck }) => !isStuck),
  }
}

/** An unavailable API server is temporary. */
function isTemporary(error: unknown): error is KubeError {
  return error instanceof KubeError && (error.status === 0 || error.status === 429 || error.status >= 500)
}

function progressLine(count: number, { gone, stuck, slow }: EndReport): string {
  const parts = [`${gone.length} gone`, ...(stuck.length > 0 ? [`${stuck.length} stuck`] : []), `${slow.length} to end`]
  return `${disruptions(count)}: ${parts.join(', ')}`
}

function linesOf({ gone, stuck, slow }: EndReport, timeoutMs: number, place: StopPlace): readonly string[] {
  const late = timeoutMs === 0 ? [] : slow.map((one) => slowLine(one, place))
  if (stuck.length + slow.length === 0)
    return [
      gone.length === 0 ? 'no Disruption existed' : `${disruptions(gone.length)} gone, and all changes are undone`,
    ]
  return [...stuck.flatMap(stuckLines), ...late]
}

function exitCodeOf({ stuck, slow }: EndReport, timeoutMs: number): number {
  if (stuck.length > 0) return STUCK
  return slow.length > 0 && timeoutMs > 0 ? TOO_LATE : 0
}

function disruptions(count: number): string {
  return count === 1 ? '1 disruption' : `${count} disruptions`
}

function timeoutIn(text: string | true | undefined): number {
  if (text === undefined) return TIMEOUT_MS
  const ms = durationMs(text)
  if (ms === undefined || ms < 0)
    throw new CommandUsageError(`--timeout: found '${String(text)}'; expected ${EXPECTED_DURATION}, or 0`)
  return ms
}
