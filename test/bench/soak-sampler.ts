// Samples what must not grow in a soak, and compares its last quarter with its second.
//
//   A1. The first quarter is no measure: caches get filled and code compiled.
//   A2. Of a quarter the median counts: a garbage collection or a killed worker makes single samples high, growth makes all so.

import { setTimeout as sleep } from 'node:timers/promises'

import type { Claim } from './claims.ts'
import type { Follower } from './follow.ts'
import type { JournalReader } from './journal-reader.ts'
import { figure, markdownTable } from './markdown.ts'
import { openFiles, residentMiB } from './process-figures.ts'
import type { ProcessTree } from './processes.ts'
import { median } from './statistics.ts'

export type Sample = Readonly<Record<string, number>>

/** What is sampled: how it is called, and how much more than the 15 % the last quarter may have. */
const SLACK: Readonly<Record<string, number>> = {
  'worker, MiB': 20,
  'bridge, MiB': 10,
  'worker, open files': 10,
  'bridge, open files': 10,
  'oldest due wake, s': 1,
  'event not journaled, s': 1,
}
const LIMIT = 1.15
const JOURNAL_LIMIT_MS = 10_000
const POLL_MS = 20

/** The newest event that the bench's own watch has seen. */
interface Seen {
  readonly uid: string
  readonly version: string
  readonly at: number
}

export class Sampler {
  readonly samples: Sample[] = []
  readonly #processes: readonly ProcessTree[]
  readonly #journal: JournalReader
  #newest: Seen | undefined

  constructor(processes: readonly ProcessTree[], journal: JournalReader, follower: Follower) {
    this.#processes = processes
    this.#journal = journal
    follower.listen(({ metadata: { uid = '', resourceVersion = '0' } }, _isDeleted, at) => {
      this.#newest = { uid, version: resourceVersion, at }
    })
  }

  /** Samples at the pace until told to end. */
  async run(everyMs: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.samples.push(await this.#sample())
      await sleep(everyMs, undefined, { signal }).catch(() => undefined)
    }
  }

  async #sample(): Promise<Sample> {
    const own = ['worker', 'bridge'].map((name) => {
      const pid = this.#processes.find((one) => one.name === name)?.pid ?? 0
      return { [`${name}, MiB`]: residentMiB(pid), [`${name}, open files`]: openFiles(pid) }
    })
    return {
      ...own[0],
      ...own[1],
      'oldest due wake, s': (await this.#journal.oldestWakeMs()) / 1000,
      'event not journaled, s': (await this.#journalLagMs()) / 1000,
    }
  }

  /** How long after the bench the journal knew of the newest event; the limit if it did not by then. */
  async #journalLagMs(): Promise<number> {
    const newest = this.#newest
    if (newest === undefined) return 0
    const begin = performance.now()
    if (await this.#journal.knows(newest.uid, newest.version)) return 0
    while (performance.now() - begin < JOURNAL_LIMIT_MS) {
      if (await this.#journal.knows(newest.uid, newest.version)) return performance.now() - newest.at
      await sleep(POLL_MS)
    }
    return performance.now() - newest.at
  }
}

/** Medians by quarter, as a table. @throws with fewer samples than quarters. */
export function quartersTable(samples: readonly Sample[]): string {
  const rows = Object.keys(SLACK).map((name) => [
    name,
    ...[0, 1, 2, 3].map((index) => figure(medianOf(quarter(samples, index), name))),
    figure(Math.max(...samples.map((sample) => sample[name] ?? NaN))),
  ])
  return markdownTable(['median of quarter', '1', '2', '3', '4', 'highest'], rows)
}

/** That nothing grew. */
export function flatnessClaims(samples: readonly Sample[]): readonly Claim[] {
  return Object.entries(SLACK).map(([name, slack]) => {
    const [second, last] = [1, 3].map((index) => medianOf(quarter(samples, index), name))
    const most = (second ?? NaN) * LIMIT + slack
    return {
      sentence: `${name}: the last quarter is at most ${figure(most)}`,
      found: figure(last),
      isKept: last !== undefined && last <= most,
    }
  })
}

function medianOf(samples: readonly Sample[], name: string): number {
  return median(samples.map((sample) => sample[name] ?? NaN))
}

function quarter(samples: readonly Sample[], index: number): readonly Sample[] {
  const at = (part: number) => Math.round((part * samples.length) / 4)
  return samples.slice(at(index), at(index + 1))
}
