// Tells of jobs that wait for their turn: an Event on the object, since no run is there yet that could write its status. Source: docs/adr/0045.
//
//   W1. Nobody looks while the dispatcher can start whatever is due, so a job that begins promptly costs nothing.
//   W2. Only what has waited for LATE_MS is told, once in each wait: the name of an Event is made of the subject and the time since when it waits, so
//       that other workers, and this one after a restart, find it there.
//   W3. A namespace in which thousands wait is told a few at a time, those that wait longest first, and takes no other's place.
//   W4. An Event decides nothing: one that cannot be written is tried again with the next look, and no wake waits for it.

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
import { leftLanes, type Queues } from './task-queues.ts'
import { followedBy, type Lookups, resolveWake } from './resolve-wake.ts'
import type { Run } from './runs.ts'

export interface WaitingJobsDeps {
  readonly db: Kysely<Database>
  readonly kube: KubeClient
  readonly log: Pick<Logger, 'info' | 'warn'>
  readonly now: () => Date
  readonly registry: Registry
}

export interface WaitingJobsOptions extends Pick<Queues, 'controllers' | 'shares'> {
  readonly cluster: string
}

const WAITING_FOR_TURN = 'WaitingForTurn'

const LATE_MS = 10_000
const LOOK_MS = 5000
const MOST_OF_NAMESPACE = 20
const MOST = 100
/** How many are written at a time. */
const ABREAST = 10
/** What was looked at once is looked at again only when the journal has something new of it. */
const MOST_KNOWN = 10_000

export class WaitingJobs {
  readonly #deps: WaitingJobsDeps
  readonly #options: WaitingJobsOptions
  readonly #lookups: Lookups
  /** Versions of wakes, the oldest look first. */
  readonly #known = new Set<number>()
  /** What was told (W2). */
  readonly #told = new Set<string>()

  constructor(deps: WaitingJobsDeps, options: WaitingJobsOptions) {
    this.#deps = deps
    this.#options = options
    const { db, registry, now } = deps
    this.#lookups = {
      registry,
      now,
      findOpen: createGroupCommit(MOST, async (subjects: readonly JobSubject[]) => await findOpenJobs(db, subjects)),
      readSubject: createGroupCommit(
        MOST,
        async (ids: readonly ObjectID[]) => await readSubjects(db, ids, followedBy(registry)),
      ),
    }
  }

  /** Until the signal is aborted. @param wasFull whether the dispatcher has had to leave what is due since it was asked last (W1). */
  async run(signal: AbortSignal, wasFull: () => boolean): Promise<void> {
    const isOver = () => signal.aborted
    while (!isOver()) {
      await pause(LOOK_MS, signal)
      if (isOver() || !wasFull()) continue
      await this.look(isOver).catch((error: unknown) =>
        this.#deps.log.warn({ err: error }, 'jobs that wait for their turn cannot be looked for'),
      )
    }
  }

  /** Tells what has waited in the journal for long enough. @throws when that does not answer. */
  async look(isOver = () => false): Promise<void> {
    const { db, now } = this.#deps
    const { cluster, shares = [] } = this.#options
    const [since, known] = [new Date(now().getTime() - LATE_MS), [...this.#known]]
    const wakes = await waitingWakes(db, {
      cluster,
      controllers: this.#jobControllers(),
      unhandledPartitions: leftLanes(shares),
      since,
      now: now(),
      known,
      mostOfNamespace: MOST_OF_NAMESPACE,
      most: MOST,
    })
    for (let index = 0; index < wakes.length && !isOver(); index += ABREAST)
      await Promise.all(wakes.slice(index, index + ABREAST).map(async (wake) => await this.#tellOf(wake)))
  }

  /** A run was started and has not begun for a while. @param due since when its subject waits. Never throws. */
  async late({ controller, input: { subject, jobID } }: Run, due: Date): Promise<void> {
    // In level mode there are no jobs.
    if (jobID === '') return
    await this.#tell({ controller, subject, due }, 'its run was started, and no worker has begun it yet').catch(
      (error: unknown) => this.#deps.log.warn({ err: error }, 'a run that does not begin cannot be told of'),
    )
  }

  #jobControllers(): readonly string[] {
    const { registry } = this.#deps
    const { controllers = [...registry.controllers.keys()] } = this.#options
    return controllers.filter((name) => registry.modes[name] === 'job')
  }

  async #tellOf(wake: Wake & QueuePosition): Promise<void> {
    const resolution = await resolveWake(wake, this.#lookups)
    const run = resolution.to === 'start' ? resolution.run : undefined
    // What is hosted waits for the turn of its host, which has a wake of its own.
    const isOwn = run?.controller === wake.controller && run.input.subject.uid === wake.uid
    if (!isOwn || (await this.#tell({ ...run, subject: run.input.subject, due: wake.due }, aheadOf(wake))))
      remember(this.#known, wake.version)
  }

  /** @returns whether it was told, now or before. */
  async #tell({ controller, subject, due }: Told, why: string): Promise<boolean> {
    const key = `${controller}/${subject.uid}/${due.toISOString()}`
    if (this.#told.has(key)) return true
    const apiVersion = this.#deps.registry.controllers.get(controller)?.target.apiVersion ?? ''
    const isThere = await recordEvent(
      this.#deps,
      { ...subject, apiVersion },
      {
        type: 'Normal',
        reason: WAITING_FOR_TURN,
        source: 'pawl',
        message: `waits for its turn since ${due.toISOString()}: ${why}`,
        identity: [controller, subject.uid, WAITING_FOR_TURN, due.toISOString()],
      },
    )
    if (isThere) remember(this.#told, key)
    return isThere
  }
}

interface Told {
  readonly controller: string
  readonly subject: Subject
  readonly due: Date
}

/** Of the own namespace only: how much others ask for is not everybody's to know. */
function aheadOf({ ahead }: QueuePosition): string {
  const count = ahead >= MOST_AHEAD ? `${MOST_AHEAD} or more` : String(ahead)
  return `${ahead === 0 ? 'none' : count} of its namespace ${ahead === 1 ? 'comes' : 'come'} before it, and namespaces take turns`
}

function remember<Entry>(entries: Set<Entry>, entry: Entry): void {
  const [oldest] = entries
  if (entries.size >= MOST_KNOWN && oldest !== undefined) entries.delete(oldest)
  entries.add(entry)
}
