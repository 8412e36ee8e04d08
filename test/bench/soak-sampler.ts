// Samples what must not grow in a soak, and compares its last quarter with its second.
//
//   A1. The first quarter is no measure: caches get filled and code compiled.
//   A2. Of a quarter the median counts: a killed worker makes single samples high, growth makes all so.
//   A3. What must not grow is the memory that is held. That which the kernel sees is told, but as much garbage is in it as V8 likes.

import { setTimeout as sleep } from 'node:timers/promises'

import type { Claim } from './claims.ts'
import type { Follower } from './follow.ts'
import { Inspector } from './inspector.ts'
import type { JournalReader } from './journal-reader.ts'
import { liveMiB } from './live-memory.ts'
import { figure, markdownTable } from './markdown.ts'
import { openFiles, residentMiB } from './process-figures.ts'
import type { BenchSet } from './servers.ts'
import { median } from './statistics.ts'

/** Not everything is in every sample. */
export type Sample = Readonly<Record<string, number>>

/** What is sampled: how it is called, and how much more than the 15 % the last quarter may have; undefined = it may grow (A3). */
const SLACK: Readonly<Record<string, number | undefined>> = {
  'worker, live MiB': 20,
  'bridge, live MiB': 10,
  'worker, MiB': undefined,
  'bridge, MiB': undefined,
  'worker, open files': 10,
  'bridge, open files': 10,
  'oldest due wake, s': 1,
  'event not journaled, s': 1,
}
const LIMIT = 1.15
const JOURNAL_LIMIT_MS = 10_000
const POLL_MS = 20
// A collection stops the process; one in so many samples has one.
const LIVE_EVERY = 3
/** So that each quarter has one, however short the soak is. */
const LEAST_SAMPLES = 4 * LIVE_EVERY

const SAMPLED = ['worker', 'bridge']

interface SampledProcess {
  readonly name: string
  readonly pid: number
  readonly inspector: Inspector
}

/** The newest event that the bench's own watch has seen. */
interface Seen {
  readonly uid: string
  readonly version: string
  readonly at: number
}

export class Sampler {
  readonly samples: Sample[] = []
  readonly #processes: readonly SampledProcess[]
  readonly #journal: JournalReader
  #newest: Seen | undefined

  private constructor(processes: readonly SampledProcess[], journal: JournalReader, follower: Follower) {
    this.#processes = processes
    this.#journal = journal
    follower.listen(({ metadata: { uid = '', resourceVersion = '0' } }, _isDeleted, at) => {
      this.#newest = { uid, version: resourceVersion, at }
    })
  }

  static async open(set: Pick<BenchSet, 'processes' | 'logFile'>, journal: JournalReader, follower: Follower) {
    const processes = SAMPLED.map(async (name) => {
      const pid = set.processes.find((one) => one.name === name)?.pid
      if (pid === undefined) throw new Error(`soak: the set has no ${name}`)
      return { name, pid, inspector: await Inspector.open(pid, set.logFile(name)) }
    })
    return new Sampler(await Promise.all(processes), journal, follower)
  }

  close(): void {
    for (const { inspector } of this.#processes) inspector.close()
  }

  /** Samples at the pace until told to end, and so often at the least. */
  async run(everyMs: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted || this.samples.length < LEAST_SAMPLES) {
      this.samples.push(await this.#sample())
      await sleep(everyMs, undefined, { signal }).catch(() => undefined)
    }
  }

  async #sample(): Promise<Sample> {
    const own: Record<string, number> = {}
    for (const { name, pid, inspector } of this.#processes) {
      own[`${name}, MiB`] = residentMiB(pid)
      own[`${name}, open files`] = openFiles(pid)
      if (this.samples.length % LIVE_EVERY === 0) own[`${name}, live MiB`] = await liveMiB(inspector)
    }
    return {
      ...own,
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

/** Medians by quarter, as a table. @throws where a quarter has no sample. */
export function quartersTable(samples: readonly Sample[]): string {
  const rows = Object.keys(SLACK).map((name) => [
    name,
    ...[0, 1, 2, 3].map((index) => figure(medianOf(quarter(samples, index), name))),
    figure(Math.max(...valuesOf(samples, name))),
  ])
  return markdownTable(['median of quarter', '1', '2', '3', '4', 'highest'], rows)
}

/** That nothing grew. */
export function flatnessClaims(samples: readonly Sample[]): readonly Claim[] {
  return Object.entries(SLACK).flatMap(([name, slack]) => {
    if (slack === undefined) return []
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
  return median(valuesOf(samples, name))
}

function valuesOf(samples: readonly Sample[], name: string): readonly number[] {
  return samples.flatMap((sample) => sample[name] ?? [])
}

function quarter(samples: readonly Sample[], index: number): readonly Sample[] {
  const at = (part: number) => Math.round((part * samples.length) / 4)
  return samples.slice(at(index), at(index + 1))
}
