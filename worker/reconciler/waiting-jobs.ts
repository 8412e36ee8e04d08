// Records an Event on objects whose jobs wait for capacity: no run exists yet that could write the status. Source: docs/adr/0045.
//
//   W1. The journal is not queried while the dispatcher has free capacity, so a job that starts at once costs nothing.
//   W2. Only waits of at least LATE_MS are reported, once per wait. The name of the Event is derived from the subject and the start of the wait, so that other
//       workers, and this one after a restart, find the existing Event.
//   W3. A namespace with thousands of waiting jobs gets its Events a few at a time, the longest waits first, and does not delay other namespaces.
//   W4. Nothing depends on an Event: the next poll repeats a failed write, and no wake waits for it.

import type { Kysely } from 'kysely'

import type { Database } from '../../activities/journal/database.ts'
import { MOST_AHEAD } from '../../activities/journal/read/limits.ts'
import { type QueuePosition, waitingWakes } from '../../activities/journal/read/wake-queue.ts'
import { type ObjectID, readSubjects } from '../../activities/journal/read/subjects.ts'
import { createGroupCommit } from '../../activities/journal/write/group-commit.ts'
import { findOpenJobs, type JobSubject } from '../../activities/journal/write/jobs.ts'
import type { Wake } from '../../activities/journal/write/wakes.ts'
import type { KubeClient } from '../../activities/kube/client.ts'
import { recordEvent } from '../../activities/kube/events.ts'
import type { Subject } from '../../workflows/kit/index.ts'
import { pause } from '../server/backoff.ts'
import type { Logger } from '../server/log.ts'
import type { Registry } from '../server/registry.ts'
import { excludedPartitions, type TaskQueues } from './task-queues.ts'
import { watchedKindKeys, type Lookups, resolveWake } from './resolve-wake.ts'
import { remember } from './job-events.ts'
import type { Run } from './runs.ts'

export interface WaitingJobsDeps {
  readonly db: Kysely<Database>
  readonly kube: KubeClient
  readonly log: Pick<Logger, 'info' | 'warn'>
  readonly now: () => Date
  readonly registry: Registry
}

export interface WaitingJobsOptions extends Pick<TaskQueues, 'controllers' | 'shares'> {
  readonly cluster: string
}

const WAITING_FOR_TURN = 'WaitingForTurn'

const LATE_MS = 10_000
const POLL_MS = 5000
const MAX_PER_NAMESPACE = 20
const MAX_PER_POLL = 100
/** Concurrent writes. */
const CONCURRENT_WRITES = 10

export class WaitingJobs {
  readonly #deps: WaitingJobsDeps
  readonly #options: WaitingJobsOptions
  readonly #lookups: Lookups
  /** Versions of examined wakes, the oldest first. A wake is examined again only after the journal has a new version of it. */
  readonly #examined = new Set<number>()
  /** Reported waits (W2). */
  readonly #reported = new Set<string>()

  constructor(deps: WaitingJobsDeps, options: WaitingJobsOptions) {
    this.#deps = deps
    this.#options = options
    const { db, registry, now } = deps
    this.#lookups = {
      registry,
      now,
      findOpen: createGroupCommit(
        MAX_PER_POLL,
        async (subjects: readonly JobSubject[]) => await findOpenJobs(db, subjects),
      ),
      readSubject: createGroupCommit(
        MAX_PER_POLL,
        async (ids: readonly ObjectID[]) => await readSubjects(db, ids, watchedKindKeys(registry)),
      ),
    }
  }

  /** Runs until the signal is aborted. @param wasFull whether the dispatcher left due wakes unclaimed since the last call (W1). */
  async run(signal: AbortSignal, wasFull: () => boolean): Promise<void> {
    const isStopped = () => signal.aborted
    while (!isStopped()) {
      await pause(POLL_MS, signal)
      if (isStopped() || !wasFull()) continue
      await this.reportOnce(isStopped).catch((error: unknown) =>
        this.#deps.log.warn({ err: error }, 'the waiting jobs could not be read'),
      )
    }
  }

  /** Reports all waits that are long enough. @throws if the journal does not answer. */
  async reportOnce(isStopped = () => false): Promise<void> {
    const { db, now } = this.#deps
    const { cluster, shares = [] } = this.#options
    const since = new Date(now().getTime() - LATE_MS)
    const wakes = await waitingWakes(db, {
      cluster,
      controllers: this.#jobControllers(),
      unhandledPartitions: excludedPartitions(shares),
      since,
      now: now(),
      known: [...this.#examined],
      mostOfNamespace: MAX_PER_NAMESPACE,
      most: MAX_PER_POLL,
    })
    for (let index = 0; index < wakes.length && !isStopped(); index += CONCURRENT_WRITES)
      await Promise.all(wakes.slice(index, index + CONCURRENT_WRITES).map(async (wake) => await this.#reportWait(wake)))
  }

  /** Reports a run that was started and has not begun in time. @param due the start of the wait. Never throws. */
  async reportSlowStart({ controller, input: { subject, jobID } }: Run, due: Date): Promise<void> {
    // In level mode there are no jobs.
    if (jobID === '') return
    await this.#report(
      { controller, subject, due },
      'its run was started, and no worker has taken it yet; check that enough workers run',
    ).catch((error: unknown) =>
      this.#deps.log.warn(
        { controller, ...subject, jobID, err: error },
        'the Event about a waiting run could not be written',
      ),
    )
  }

  #jobControllers(): readonly string[] {
    const { registry } = this.#deps
    const { controllers = [...registry.controllers.keys()] } = this.#options
    return controllers.filter((name) => registry.modes[name] === 'job')
  }

  async #reportWait(wake: Wake & QueuePosition): Promise<void> {
    const resolution = await resolveWake(wake, this.#lookups)
    const run = resolution.to === 'start' ? resolution.run : undefined
    // A hosted subject waits for the wake of its host.
    const isOwnWake = run?.controller === wake.controller && run.input.subject.uid === wake.uid
    if (
      !isOwnWake ||
      (await this.#report({ ...run, subject: run.input.subject, due: wake.due }, queuePositionText(wake)))
    )
      remember(this.#examined, wake.version)
  }

  /** @returns whether the Event exists. */
  async #report({ controller, subject, due }: WaitingSubject, why: string): Promise<boolean> {
    const key = `${controller}/${subject.uid}/${due.toISOString()}`
    if (this.#reported.has(key)) return true
    const apiVersion = this.#deps.registry.controllers.get(controller)?.target.apiVersion ?? ''
    const isThere = await recordEvent(
      this.#deps,
      { ...subject, apiVersion },
      {
        type: 'Normal',
        reason: WAITING_FOR_TURN,
        source: 'pawl',
        message: `waits for a worker since ${due.toISOString()}: ${why}`,
        identity: [controller, subject.uid, WAITING_FOR_TURN, due.toISOString()],
      },
    )
    if (isThere) remember(this.#reported, key)
    return isThere
  }
}

interface WaitingSubject {
  readonly controller: string
  readonly subject: Subject
  readonly due: Date
}

/** Counts wakes of the same namespace only: the load of other namespaces is confidential. */
function queuePositionText({ ahead }: QueuePosition): string {
  const count = ahead >= MOST_AHEAD ? `${MOST_AHEAD} or more` : String(ahead)
  return `${ahead === 0 ? 'no other job' : count} of its namespace ${ahead < 2 ? 'is' : 'are'} ahead, and workers serve the namespaces in turns`
}
