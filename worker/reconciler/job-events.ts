// Records Kubernetes Events about root jobs: the job runs for long, has succeeded, or makes no progress. Errors of jobs have Events of their own
// (activities/run/write-status.ts). Source: docs/adr/0052.
//
//   J1. Off the hot path: the journal is polled every POLL_MS. A job that ends before LASTING_MS has no Event.
//   J2. Each job has at most one Event of each type; a stalled job has one every hour, because the API server deletes Events after one hour. Names of Events
//       are derived from job and type, so that other workers, and this one after a restart, find the existing Event.
//   J3. A namespace with thousands of jobs gets its Events a few at a time and does not delay other namespaces.
//   J4. Nothing depends on an Event: if a write fails, the next poll repeats it.

import type { Kysely } from 'kysely'

import type { Database } from '../../activities/journal/database.ts'
import {
  type ReportableJob,
  type ReportableJobsQuery,
  reportableJobs,
} from '../../activities/journal/read/job-queries.ts'
import type { KubeClient } from '../../activities/kube/client.ts'
import { type KubeEvent, recordEvent } from '../../activities/kube/events.ts'
import { pause } from '../server/backoff.ts'
import type { Logger } from '../server/log.ts'
import type { Registry } from '../server/registry.ts'

export interface JobEventsDeps {
  readonly db: Kysely<Database>
  readonly kube: KubeClient
  readonly log: Pick<Logger, 'info' | 'warn'>
  readonly now: () => Date
  readonly registry: Registry
}

export interface JobEventsOptions {
  readonly cluster: string
  /** Absent: all. */
  readonly controllers?: readonly string[] | undefined
}

type JobEventType = ReportableJobsQuery['what']

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const POLL_MS = 10_000
const LASTING_MS = 15_000
const STALLED_MS = 10 * MINUTE_MS
const LIMITS: Readonly<Record<JobEventType, { readonly forMs: number; readonly withinMs: number }>> = {
  lasting: { forMs: LASTING_MS, withinMs: HOUR_MS },
  // After a restart, a worker still reports the jobs that ended meanwhile.
  ended: { forMs: LASTING_MS, withinMs: 5 * MINUTE_MS },
  stalled: { forMs: STALLED_MS, withinMs: 0 },
}
const MAX_PER_NAMESPACE = 10
const MAX_PER_POLL = 50
const CONCURRENT_WRITES = 10
const MAX_REMEMBERED = 10_000

export class JobEvents {
  readonly #deps: JobEventsDeps
  readonly #options: JobEventsOptions
  /** Workflow IDs of reported runs, the oldest first; for stalled runs only the current hour. */
  readonly #reported: Readonly<Record<JobEventType, Set<string>>> = {
    lasting: new Set(),
    ended: new Set(),
    stalled: new Set(),
  }
  #hour = 0

  constructor(deps: JobEventsDeps, options: JobEventsOptions) {
    this.#deps = deps
    this.#options = options
  }

  /** Runs until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const isStopped = () => signal.aborted
    while (!isStopped()) {
      await pause(POLL_MS, signal)
      if (isStopped()) return
      await this.reportOnce().catch((error: unknown) =>
        this.#deps.log.warn({ err: error }, 'the jobs to report could not be read'),
      )
    }
  }

  /** @throws if the journal does not answer. */
  async reportOnce(): Promise<void> {
    const now = this.#deps.now()
    const hour = Math.floor(now.getTime() / HOUR_MS)
    if (hour !== this.#hour) this.#reported.stalled.clear()
    this.#hour = hour
    for (const what of ['lasting', 'ended', 'stalled'] as const) await this.#reportType(what, now)
  }

  async #reportType(what: JobEventType, now: Date): Promise<void> {
    const { db, registry } = this.#deps
    const { cluster, controllers = [...registry.controllers.keys()] } = this.#options
    const known = this.#reported[what]
    const jobs = await reportableJobs(db, {
      cluster,
      what,
      now,
      ...LIMITS[what],
      known: [...known],
      controllers: controllers.filter((name) => registry.modes[name] === 'job'),
      mostOfNamespace: MAX_PER_NAMESPACE,
      most: MAX_PER_POLL,
    })
    for (let index = 0; index < jobs.length; index += CONCURRENT_WRITES)
      await Promise.all(
        jobs.slice(index, index + CONCURRENT_WRITES).map(async (job) => {
          if (!(await this.#report(what, job))) return
          remember(known, job.workflowID)
        }),
      )
  }

  /** @returns whether the Event exists, or none is needed. */
  async #report(what: JobEventType, job: ReportableJob): Promise<boolean> {
    const target = this.#deps.registry.controllers.get(job.controller)?.target
    const event = eventOf(what, job, target?.kind ?? '', this.#hour)
    if (event === undefined || target === undefined) return true
    const { uid, namespace, name } = job
    const { kind, apiVersion } = target
    return await recordEvent(this.#deps, { kind, apiVersion, uid, namespace, name }, event)
  }
}

/** Undefined: a failed job has an Event with its error, and a deleted object needs none. */
export function eventOf(what: JobEventType, job: ReportableJob, kind: string, hour: number): KubeEvent | undefined {
  const { controller, uid, jobID, startedAt, finishedAt, outcome, cause, phase, since, name } = job
  const source = 'pawl'
  const of = (reason: string, ...more: readonly string[]) => [controller, uid, jobID, reason, ...more]
  switch (what) {
    case 'lasting': {
      const message = `job ${jobID} started at ${startedAt.toISOString()} (${cause})`
      return { type: 'Normal', reason: 'JobStarted', message, source, identity: of('JobStarted') }
    }
    case 'ended': {
      if (outcome !== 'Succeeded' || finishedAt === null) return undefined
      const seconds = Math.round((finishedAt.getTime() - startedAt.getTime()) / 1000)
      const message = `job ${jobID} succeeded after ${seconds} s`
      return { type: 'Normal', reason: 'JobSucceeded', message, source, identity: of('JobSucceeded') }
    }
    case 'stalled': {
      const where = phase === null ? 'has not reached its first phase' : `is in phase ${phase}`
      const message = `job ${jobID} ${where} since ${since.toISOString()}; find the cause with: pawl why ${kind.toLowerCase()}/${name}`
      return { type: 'Warning', reason: 'JobStalled', message, source, identity: of('JobStalled', String(hour)) }
    }
  }
}

/** Adds an entry to a bounded set, which then forgets its oldest entry. */
export function remember<Entry>(entries: Set<Entry>, entry: Entry): void {
  const [oldest] = entries
  if (entries.size >= MAX_REMEMBERED && oldest !== undefined) entries.delete(oldest)
  entries.add(entry)
}
