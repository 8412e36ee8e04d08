// Tells of jobs of roots by Events on their objects: that one lasts, that it has ended well, that it does not come on. What one failed of is told with the
// write of its error (activities/run/write-status.ts). Source: docs/adr/0052.
//
//   J1. Off the hot path: the journal is looked at every LOOK_MS. A job that is over before LASTING_MS costs no Event.
//   J2. One Event for each job and each thing that is told; of one that stalls another one every hour, for Events are forgotten after one. The names are
//       made of that, so that other workers, and this one after a restart, find it there.
//   J3. A namespace with thousands of jobs is told of a few at a time, and takes no other's place.
//   J4. An Event decides nothing: one that cannot be written is tried again with the next look.

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

type What = ReportableJobsQuery['what']

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const LOOK_MS = 10_000
const LASTING_MS = 15_000
const STALLED_MS = 10 * MINUTE_MS
const LIMITS: Readonly<Record<What, { readonly forMs: number; readonly withinMs: number }>> = {
  lasting: { forMs: LASTING_MS, withinMs: HOUR_MS },
  // A worker that was away for a moment tells of what ended meanwhile.
  ended: { forMs: LASTING_MS, withinMs: 5 * MINUTE_MS },
  stalled: { forMs: STALLED_MS, withinMs: 0 },
}
const MOST_OF_NAMESPACE = 10
const MOST = 50
const ABREAST = 10
const MOST_KNOWN = 10_000

export class JobEvents {
  readonly #deps: JobEventsDeps
  readonly #options: JobEventsOptions
  /** Runs that were told of, the oldest first; of those that stall in this hour. */
  readonly #known: Readonly<Record<What, Set<string>>> = { lasting: new Set(), ended: new Set(), stalled: new Set() }
  #hour = 0

  constructor(deps: JobEventsDeps, options: JobEventsOptions) {
    this.#deps = deps
    this.#options = options
  }

  /** Until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const isOver = () => signal.aborted
    while (!isOver()) {
      await pause(LOOK_MS, signal)
      if (isOver()) return
      await this.look().catch((error: unknown) =>
        this.#deps.log.warn({ err: error }, 'jobs that are to be told of cannot be looked for'),
      )
    }
  }

  /** @throws when the journal does not answer. */
  async look(): Promise<void> {
    const now = this.#deps.now()
    const hour = Math.floor(now.getTime() / HOUR_MS)
    if (hour !== this.#hour) this.#known.stalled.clear()
    this.#hour = hour
    for (const what of ['lasting', 'ended', 'stalled'] as const) await this.#tellOf(what, now)
  }

  async #tellOf(what: What, now: Date): Promise<void> {
    const { db, registry } = this.#deps
    const { cluster, controllers = [...registry.controllers.keys()] } = this.#options
    const known = this.#known[what]
    const jobs = await reportableJobs(db, {
      cluster,
      what,
      now,
      ...LIMITS[what],
      known: [...known],
      controllers: controllers.filter((name) => registry.modes[name] === 'job'),
      mostOfNamespace: MOST_OF_NAMESPACE,
      most: MOST,
    })
    for (let index = 0; index < jobs.length; index += ABREAST)
      await Promise.all(
        jobs.slice(index, index + ABREAST).map(async (job) => {
          if (!(await this.#tell(what, job))) return
          known.add(job.workflowID)
          const [oldest] = known
          if (known.size > MOST_KNOWN && oldest !== undefined) known.delete(oldest)
        }),
      )
  }

  /** @returns whether it was told, now or before, or is nothing to tell. */
  async #tell(what: What, job: ReportableJob): Promise<boolean> {
    const target = this.#deps.registry.controllers.get(job.controller)?.target
    const told = eventOf(what, job, target?.kind ?? '', this.#hour)
    if (told === undefined || target === undefined) return true
    const { uid, namespace, name } = job
    const { kind, apiVersion } = target
    return await recordEvent(this.#deps, { kind, apiVersion, uid, namespace, name }, told)
  }
}

/** Undefined: its failure has been told with its error, and who took its object away knows. */
export function eventOf(what: What, job: ReportableJob, kind: string, hour: number): KubeEvent | undefined {
  const { controller, uid, jobID, startedAt, finishedAt, outcome, cause, phase, since, name } = job
  const source = 'pawl'
  const of = (reason: string, ...more: readonly string[]) => [controller, uid, jobID, reason, ...more]
  switch (what) {
    case 'lasting': {
      const message = `job ${jobID} runs since ${startedAt.toISOString()} (${cause})`
      return { type: 'Normal', reason: 'JobStarted', message, source, identity: of('JobStarted') }
    }
    case 'ended': {
      if (outcome !== 'Succeeded' || finishedAt === null) return undefined
      const seconds = Math.round((finishedAt.getTime() - startedAt.getTime()) / 1000)
      const message = `job ${jobID} has succeeded after ${seconds} s`
      return { type: 'Normal', reason: 'JobSucceeded', message, source, identity: of('JobSucceeded') }
    }
    case 'stalled': {
      const where = phase === null ? 'has not come to its first phase' : `is in phase ${phase}`
      const message = `job ${jobID} ${where} since ${since.toISOString()}; what it waits for says: pawl why ${kind.toLowerCase()}/${name}`
      return { type: 'Warning', reason: 'JobStalled', message, source, identity: of('JobStalled', String(hour)) }
    }
  }
}
