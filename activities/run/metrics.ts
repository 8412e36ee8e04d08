// The metrics of a process, for Prometheus: the declared metrics of the engine and of wings (kit/run/wing.ts), counted by prom-client. Gauges, such as the
// number of objects, are measured when Prometheus scrapes. Other receivers, such as a StatsD client, subscribe to each change (`addObserver`).
//
//   M1. Counters and histograms count since the start of this process. Their sum over all workers is the total.
//   M2. Gauges of the journal are the same in all workers of one journal: dashboards take their maximum, not their sum.
//   M3. A measurement that fails leaves its gauges out of the answer, because their values are unknown.
//   M4. A metric has the declared labels only, so a value that a tenant chooses becomes a series only if a declaration says so.

import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

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

interface Known {
  readonly labels: readonly string[]
  readonly metric: Counter | Gauge | Histogram
}

export type Measure = () => Promise<readonly Sample[]>

export interface MetricsOptions {
  readonly now: () => Date
  /** Is called when a measurement fails. */
  readonly failed: (error: unknown) => void
}

export class Metrics implements MetricsSource {
  readonly #registry = new Registry()
  readonly #known = new Map<string, Known>()
  readonly #measures: Measure[] = []
  readonly #observers: MetricsObserver[] = []
  readonly #options: MetricsOptions
  /** The newest measurement. A scrape during the measurement waits for it. */
  #measured: { readonly samples: Promise<readonly Sample[]>; endedMs: number | undefined } | undefined

  constructor(options: MetricsOptions) {
    this.#options = options
  }

  /** The media type of `text`. */
  get contentType(): string {
    return this.#registry.contentType
  }

  /** @throws a plain Error (a bug) for a name that is already declared or is not a valid metric name. */
  declare(table: MetricTable): void {
    for (const [name, declaration] of Object.entries(table)) {
      if (!/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name) || this.#known.has(name))
        throw new Error(
          `metric ${name}: the name is invalid or used twice; expected a unique name of letters, digits and _`,
        )
      const metric = createMetric(name, declaration, this.#registry)
      this.#known.set(name, { labels: declaration.labels ?? [], metric })
    }
  }

  /** Adds the metrics of the Node.js process: CPU, memory, event loop, garbage collection, open files. */
  declareProcess(): void {
    collectDefaultMetrics({ register: this.#registry })
  }

  /** Adds to a counter. @param details further labels for subscribers; they may have many different values. */
  count(name: string, labels: Labels = {}, by = 1, details: Labels = {}): void {
    this.#metric(name, labels, Counter).inc(labels, by)
    if (by !== 0) for (const observer of this.#observers) observer.counted(name, { ...labels, ...details }, by)
  }

  /** Adds a value to a histogram. @param details as for `count`. */
  observe(name: string, value: number, labels: Labels = {}, details: Labels = {}): void {
    this.#metric(name, labels, Histogram).observe(labels, value)
    for (const observer of this.#observers) observer.observed(name, { ...labels, ...details }, value)
  }

  /** Registers a measurement that is called at a scrape. */
  measure(measure: Measure): void {
    this.#measures.push(measure)
  }

  /** Subscribes to changes of counters and histograms. */
  addObserver(observer: MetricsObserver): void {
    this.#observers.push(observer)
  }

  /** Returns all metrics in Prometheus' text format. @throws a plain Error (a bug) for a sample without a matching declaration. */
  async text(): Promise<string> {
    const samples = await this.samples()
    for (const { metric } of this.#known.values())
      if (metric instanceof Gauge) {
        metric.reset()
        // prom-client sets a gauge without labels to 0 (M3).
        metric.remove({})
      }
    for (const { name, labels = {}, value } of samples) this.#metric(name, labels, Gauge).set(labels, value)
    return await this.#registry.metrics()
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

  /** M4 */
  #metric<M extends Counter | Gauge | Histogram>(name: string, labels: Labels, type: new (...args: never[]) => M): M {
    const known = this.#known.get(name)
    const declared = known?.labels ?? []
    const given = Object.keys(labels)
    if (
      !(known?.metric instanceof type) ||
      given.length !== declared.length ||
      !declared.every((one) => given.includes(one))
    )
      throw new Error(
        `metric ${name}: found a ${type.name.toLowerCase()} with labels ${given.join(', ')}; expected the declaration: ${known?.metric.constructor.name.toLowerCase() ?? 'nothing'} with ${declared.join(', ')}`,
      )
    return known.metric
  }
}

function createMetric(
  name: string,
  { type, help, labels = [], buckets = BUCKETS }: MetricDeclaration,
  registry: Registry,
): Counter | Gauge | Histogram {
  const options = { name, help, labelNames: [...labels], registers: [registry] }
  // A counter without labels exists with value 0 from the start, so that Prometheus sees the first increase.
  if (type === 'counter') return new Counter(options)
  return type === 'gauge' ? new Gauge(options) : new Histogram({ ...options, buckets: [...buckets] })
}
