// Samples memory, open files and delays in a soak, and compares the last quarter with the second.
//
//   A1. The first quarter does not count, because caches fill and code compiles.
//   A2. The median of a quarter counts: a killed worker makes single samples high, growth makes all samples high.
//   A3. Live memory must not grow. Resident memory is in the report, but may grow, because it contains garbage.

import { setTimeout as sleep } from 'node:timers/promises'

import type { Informer } from '../informer.ts'
import { Inspector } from '../inspector.ts'
import type { JournalReader } from '../journal-reader.ts'
import { openFiles, residentMiB } from '../processes.ts'
import { type Claim, figure, markdownTable } from '../report.ts'
import type { BenchSet } from '../servers.ts'
import { median } from '../statistics.ts'

/** The sampled values by name. A sample may lack some. */
export type Sample = Readonly<Record<string, number>>

/** The sampled values, and the growth in addition to 15 % that the last quarter may show. Undefined: the value may grow (A3). */
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
// A garbage collection stops the process, so only each third sample has live memory.
const LIVE_EVERY = 3
/** Each quarter of a short soak has live memory too. */
const LEAST_SAMPLES = 4 * LIVE_EVERY

const SAMPLED = ['worker', 'bridge']

interface SampledProcess {
  readonly name: string
  readonly pid: number
  readonly inspector: Inspector
}

/** The newest event of the informer. */
interface NewestEvent {
  readonly uid: string
  readonly version: string
  readonly at: number
}

export class Sampler {
  readonly samples: Sample[] = []
  readonly #processes: readonly SampledProcess[]
  readonly #journal: JournalReader
  #newest: NewestEvent | undefined

  private constructor(processes: readonly SampledProcess[], journal: JournalReader, informer: Informer) {
    this.#processes = processes
    this.#journal = journal
    informer.listen(({ metadata: { uid = '', resourceVersion = '0' } }, _isDeleted, at) => {
      this.#newest = { uid, version: resourceVersion, at }
    })
  }

  static async open(set: Pick<BenchSet, 'processes' | 'logFile'>, journal: JournalReader, informer: Informer) {
    const processes = SAMPLED.map(async (name) => {
      const pid = set.processes.find((one) => one.name === name)?.pid
      if (pid === undefined) throw new Error(`soak: the set has no ${name}`)
      return { name, pid, inspector: await Inspector.open(pid, set.logFile(name)) }
    })
    return new Sampler(await Promise.all(processes), journal, informer)
  }

  close(): void {
    for (const { inspector } of this.#processes) inspector.close()
  }

  /** Samples until the signal aborts, at least LEAST_SAMPLES times. */
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
      if (this.samples.length % LIVE_EVERY === 0) own[`${name}, live MiB`] = await inspector.liveMiB()
    }
    return {
      ...own,
      'oldest due wake, s': (await this.#journal.oldestWakeMs()) / 1000,
      'event not journaled, s': (await this.#journalLagMs()) / 1000,
    }
  }

  /** The delay between the informer and the journal for the newest event. */
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

/** Medians by quarter. @throws when a quarter has no sample. */
export function quartersTable(samples: readonly Sample[]): string {
  const rows = Object.keys(SLACK).map((name) => [
    name,
    ...[0, 1, 2, 3].map((index) => figure(medianOf(quarter(samples, index), name))),
    figure(Math.max(...valuesOf(samples, name))),
  ])
  return markdownTable(['median of quarter', '1', '2', '3', '4', 'highest'], rows)
}

/** The claims that nothing has grown. */
export function flatnessClaims(samples: readonly Sample[]): readonly Claim[] {
  return Object.entries(SLACK).flatMap(([name, slack]) => {
    if (slack === undefined) return []
    const [second, last] = [1, 3].map((index) => medianOf(quarter(samples, index), name))
    const most = (second ?? NaN) * LIMIT + slack
    return {
      sentence: `${name}: the last quarter is at most ${figure(most)}`,
      measured: figure(last),
      isTrue: last !== undefined && last <= most,
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
