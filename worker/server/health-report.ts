// Reports the health of the engine. Every process with --health-check writes a heartbeat to the journal, reads the heartbeats of all processes, and writes the
// health object.
//
//   T1. There is no leader: all processes check. The object has the time of its last write, by the database's clock, and each write has the resourceVersion
//       that was read. So one process writes once per interval, and at once when the state changes; also while the journal is away. Source: docs/adr/0048.
//   T2. There are six checks per interval: a process counts as silent after half an interval, and is reported before the interval ends.
//   T3. A part that does not answer within five seconds is unhealthy; the check does not wait longer.

import { hostname } from 'node:os'
import type { Kysely } from 'kysely'

import type { Database } from '../../activities/journal/database.ts'
import { sendHeartbeat, endHeartbeat, type Heartbeat, heartbeats } from '../../activities/journal/write/heartbeats.ts'
import type { KubeClient } from '../../activities/kube/client.ts'
import { isAlreadyExists, isConflict } from '../../activities/kube/errors.ts'
import { requestsWithDeadline } from '../../activities/kube/client-with-deadline.ts'
import { pause } from './backoff.ts'
import type { FlagTable, FlagValues } from './flags.ts'
import { describeHealth, type HealthState, type ReportedHealth, stateToReport, problemsIn } from './health-state.ts'
import type { Logger } from './log.ts'
import { type ObjectPlace, readReportObject, reportTarget, writeReportObject } from './report-object.ts'
import type { StatusReports } from '../../workflows/kit/index.ts'

export interface HealthSettings {
  readonly at: ObjectPlace
  readonly tells: StatusReports['health']
  readonly everyMs: number
}

export interface HealthDeps {
  /** With short time-outs (T3). */
  readonly db: Kysely<Database>
  readonly kube: Pick<KubeClient, 'request'>
  readonly log: Logger
  readonly now: () => Date
  readonly own: Pick<Heartbeat, 'cluster' | 'owner' | 'role' | 'serves'>
  /** The failing parts of this process, with their errors. */
  readonly failures: () => Readonly<Record<string, string>>
  /** Calls to other servers, by part. */
  readonly probes?: Readonly<Record<string, () => Promise<unknown>>>
}

/** Time-outs of the connection (T3). */
export const HEALTH_DATABASE_LIMITS = { statementMs: 4000, answerMs: 5000 } as const

const CHECKS_PER_INTERVAL = 6
const PROBE_MS = 5000
const FORGET_INTERVALS = 10

/** Runs until the signal is aborted. Never throws: errors are logged. */
export async function reportHealth(deps: HealthDeps, settings: HealthSettings, signal: AbortSignal): Promise<void> {
  const reporter = new HealthReporter(deps, settings)
  const checkEveryMs = Math.ceil(settings.everyMs / CHECKS_PER_INTERVAL)
  while (!signal.aborted) {
    await reporter.check()
    await pause(checkEveryMs, signal)
  }
  await reporter.end()
}

export class HealthReporter {
  readonly #deps: HealthDeps
  readonly #settings: HealthSettings
  #failedChecks = 0
  /** The last report that this process knows. */
  #lastReport: ReportedHealth | undefined
  #isReportFailing = false

  constructor(deps: HealthDeps, settings: HealthSettings) {
    this.#deps = deps
    this.#settings = settings
  }

  /** Never throws. */
  async check(): Promise<void> {
    const problems = await this.#problems()
    this.#failedChecks = problems.length === 0 ? 0 : this.#failedChecks + 1
    try {
      await this.#report(problems)
      this.#isReportFailing = false
    } catch (error) {
      if (!this.#isReportFailing) this.#deps.log.warn({ err: error }, 'the health of the engine could not be reported')
      this.#isReportFailing = true
    }
  }

  async end(): Promise<void> {
    await endHeartbeat(this.#deps.db, this.#beat([])).catch((error: unknown) =>
      this.#deps.log.debug({ err: error }, 'other processes will report this process as silent for some time'),
    )
  }

  #beat(wrong: readonly string[]): Heartbeat {
    return {
      ...this.#deps.own,
      place: hostname(),
      wrong,
      everyMs: Math.ceil(this.#settings.everyMs / CHECKS_PER_INTERVAL),
    }
  }

  async #problems(): Promise<readonly string[]> {
    const { db, own } = this.#deps
    const parts = [
      ...Object.keys(this.#deps.failures()),
      ...(this.#isReportFailing ? ['kubernetes'] : []),
      ...(await this.#failedProbes()),
    ]
    const heartbeat = this.#beat([...new Set(parts)].sort())
    try {
      await sendHeartbeat(db, heartbeat, FORGET_INTERVALS * this.#settings.everyMs)
      return problemsIn(await heartbeats(db, own.cluster))
    } catch (error) {
      this.#deps.log.debug({ err: error }, 'the journal accepts no heartbeat')
      return [`the journal does not answer ${own.role} ${heartbeat.place}`]
    }
  }

  async #failedProbes(): Promise<readonly string[]> {
    const { probes = {}, log } = this.#deps
    const results = Object.entries(probes).map(async ([part, probe]) => {
      try {
        await withTimeout(PROBE_MS, probe())
        return []
      } catch (error) {
        log.debug({ part, err: error }, 'a dependency does not answer')
        return [part]
      }
    })
    return (await Promise.all(results)).flat()
  }

  /** T1. The known report decides whether a write may be needed; then the object is read before the write. */
  async #report(problems: readonly string[]): Promise<void> {
    if (this.#stateToReport(problems) === undefined) return
    const { now } = this.#deps
    const kube = requestsWithDeadline(this.#deps.kube, { requestMs: PROBE_MS, totalMs: PROBE_MS })
    const { at, tells } = this.#settings
    const found = await readReportObject(kube, tells, at)
    this.#lastReport = parseReport(found && tells.read(found))
    const state = this.#stateToReport(problems)
    if (state === undefined) return
    const time = now()
    const fields = tells.fields({ state, at: time.toISOString(), description: describeHealth(state, problems) })
    try {
      await writeReportObject(kube, { of: tells, at, before: found }, fields)
      this.#lastReport = { state, at: time }
    } catch (error) {
      // Another process was faster; the next check that needs a write reads its report.
      if (!isConflict(error) && !isAlreadyExists(error)) throw error
    }
  }

  #stateToReport(problems: readonly string[]): HealthState | undefined {
    const { everyMs } = this.#settings
    const check = { isHealthy: problems.length === 0, failedChecks: this.#failedChecks, now: this.#deps.now(), everyMs }
    return stateToReport(check, this.#lastReport)
  }
}

/** A report with an invalid time is ignored. */
function parseReport(
  report: { readonly state: HealthState; readonly at: string } | undefined,
): ReportedHealth | undefined {
  const at = new Date(report?.at ?? '')
  return report === undefined || Number.isNaN(at.getTime()) ? undefined : { state: report.state, at }
}

async function withTimeout<Result>(ms: number, answer: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([answer, timeout])
  } finally {
    clearTimeout(timer)
  }
}

// The flags of the health object, for bridge and worker.

export const HEALTH_FLAGS = {
  'health-check': {
    takes: '<namespace/name>',
    reads: 'text',
    default: 'none',
    text: "the object that shows the engine's health, such as pawl/landscaper; the same for all bridges and workers",
  },
  'health-check-ms': {
    takes: '<ms>',
    reads: 'number',
    least: 600,
    otherwise: 60_000,
    text: 'how often to write that object without changes, and the maximum delay until it reports a dead process',
  },
} as const satisfies FlagTable

/** Undefined: health is not reported. @throws as `reportTarget`. */
export function healthSettings(
  flags: FlagValues<typeof HEALTH_FLAGS>,
  wings: readonly string[],
): HealthSettings | undefined {
  const found = reportTarget('health-check', flags['health-check'], wings)
  return found && { at: found.at, tells: found.tells.health, everyMs: flags['health-check-ms'] }
}
