// The metrics of a process, for Prometheus: metrics that wings declare (kit/run/wing.ts), and their values. Gauges, such as the number of objects, are
// measured when Prometheus scrapes. Other receivers, such as a StatsD client, subscribe to each change (`addObserver`).
//
//   M1. Counters and histograms count since the start of this process. Their sum over all workers is the total.
//   M2. Gauges are the same in all workers of one journal: dashboards take their maximum, not their sum.
//   M3. A measurement that fails leaves its gauges out of the answer, because their values are unknown.

import type {
  MetricDeclaration,
  MetricLabels as Labels,
  MetricsObserver,
  MetricsSource,
  MetricTable,
} from '../../workflows/kit/index.ts'

/** One value of a gauge. */
export interface Sample {
  readonly name: string
  readonly labels?: Labels
  readonly value: number
}

/** Upper bounds in seconds: from the duration of a pass to the duration of a long job. */
const BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 7200]
/** Gauges are measured at most once in this time. */
const FRESH_MS = 10_000

interface Series {
  readonly labels: Labels
  value: number
  readonly buckets: number[]
  count: number
}

interface Known {
  readonly declaration: MetricDeclaration
  readonly series: Map<string, Series>
}

export type Measure = () => Promise<readonly Sample[]>

export interface MetricsOptions {
  readonly now: () => Date
  /** Is called when a measurement fails. */
  readonly failed: (error: unknown) => void
}

export class Metrics implements MetricsSource {
  readonly #known = new Map<string, Known>()
  readonly #measures: Measure[] = []
  readonly #observers: MetricsObserver[] = []
  readonly #options: MetricsOptions
  /** The newest measurement. A scrape during the measurement waits for it. */
  #measured: { readonly samples: Promise<readonly Sample[]>; endedMs: number | undefined } | undefined

  constructor(options: MetricsOptions) {
    this.#options = options
  }

  /** @throws a plain Error (a bug) for a name that is already declared or is not a valid metric name. */
  declare(table: MetricTable): void {
    for (const [name, declaration] of Object.entries(table)) {
      if (!/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name) || this.#known.has(name))
        throw new Error(
          `metric ${name}: the name is invalid or used twice; expected a unique name of letters, digits and _`,
        )
      this.#known.set(name, { declaration, series: new Map() })
      // Exists from the start, so that Prometheus sees the first increase.
      if (declaration.type === 'counter' && declaration.labels === undefined) this.count(name, {}, 0)
    }
  }

  /** Adds to a counter. @param details further labels for subscribers; they may have many different values. */
  count(name: string, labels: Labels = {}, by = 1, details: Labels = {}): void {
    this.#seriesOf(name, 'counter', labels).value += by
    if (by !== 0) for (const observer of this.#observers) observer.counted(name, { ...labels, ...details }, by)
  }

  /** Adds a duration to a histogram. @param details as for `count`. */
  observe(name: string, seconds: number, labels: Labels = {}, details: Labels = {}): void {
    const series = this.#seriesOf(name, 'histogram', labels)
    for (const observer of this.#observers) observer.observed(name, { ...labels, ...details }, seconds)
    series.value += seconds
    series.count += 1
    BUCKETS.forEach((most, index) => {
      if (seconds <= most) series.buckets[index] = (series.buckets[index] ?? 0) + 1
    })
  }

  /** Registers a measurement that is called at a scrape. */
  measure(measure: Measure): void {
    this.#measures.push(measure)
  }

  /** Subscribes to changes of counters and histograms. */
  addObserver(observer: MetricsObserver): void {
    this.#observers.push(observer)
  }

  /** Returns all metrics in Prometheus' text format. */
  async text(): Promise<string> {
    const samples = await this.samples()
    const blocks = [...this.#known].map(([name, { declaration, series }]) => {
      const { type, help } = declaration
      const measured = samples.filter((sample) => sample.name === name)
      const lines =
        type === 'gauge'
          ? measured.map(({ labels = {}, value }) => line(name, labels, value))
          : [...series.values()].flatMap((one) =>
              type === 'counter' ? [line(name, one.labels, one.value)] : spread(name, one),
            )
      return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].join('\n')
    })
    return `${blocks.join('\n')}\n`
  }

  /** Returns the current values of the gauges. Never throws (M3). */
  async samples(): Promise<readonly Sample[]> {
    const { now } = this.#options
    const { endedMs } = this.#measured ?? { endedMs: -Infinity }
    if (this.#measured === undefined || (endedMs !== undefined && now().getTime() - endedMs >= FRESH_MS)) {
      const measured = { samples: this.#measureAll(), endedMs: undefined as number | undefined }
      this.#measured = measured
      await measured.samples
      measured.endedMs = now().getTime()
    }
    return await this.#measured.samples
  }

  /** M3 */
  async #measureAll(): Promise<readonly Sample[]> {
    const found = await Promise.allSettled(this.#measures.map(async (measure) => await measure()))
    for (const one of found) if (one.status === 'rejected') this.#options.failed(one.reason)
    return found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
  }

  #seriesOf(name: string, type: MetricDeclaration['type'], labels: Labels): Series {
    const known = this.#known.get(name)
    const declared = known?.declaration.labels ?? []
    const given = Object.keys(labels)
    if (
      known?.declaration.type !== type ||
      given.length !== declared.length ||
      !declared.every((one) => given.includes(one))
    )
      throw new Error(
        `metric ${name}: found a ${type} with labels ${given.join(', ')}; expected the declaration of the wing: ${known?.declaration.type ?? 'nothing'} with ${declared.join(', ')}`,
      )
    const key = declared.map((label) => JSON.stringify(labels[label])).join(' ')
    const there = known.series.get(key)
    if (there !== undefined) return there
    const made: Series = { labels, value: 0, count: 0, buckets: BUCKETS.map(() => 0) }
    known.series.set(key, made)
    return made
  }
}

function spread(name: string, { labels, value, count, buckets }: Series): readonly string[] {
  return [
    ...BUCKETS.map((most, index) => line(`${name}_bucket`, { ...labels, le: String(most) }, buckets[index] ?? 0)),
    line(`${name}_bucket`, { ...labels, le: '+Inf' }, count),
    line(`${name}_sum`, labels, value),
    line(`${name}_count`, labels, count),
  ]
}

function line(name: string, labels: Labels, value: number): string {
  const labelTexts = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
  return `${name}${labelTexts.length === 0 ? '' : `{${labelTexts.join(',')}}`} ${value}`
}

/** Source: Prometheus, "Exposition formats": label values. */
function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
