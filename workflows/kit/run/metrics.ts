// What a wing says of its metrics: their names, types and labels, so that they can be listed without the activities. Counted by activities
// (activities/run/metrics.ts), served by the worker for Prometheus.

/** One metric, by the type that Prometheus knows. */
export interface MetricDeclaration {
  /** `histogram`: of seconds. */
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** One sentence for people, in one line. */
  readonly help: string
  /** Names of its labels; absent: it has none. Of their values there are few: a worker keeps each as long as it runs. */
  readonly labels?: readonly string[]
}

/** By name, as Prometheus allows names. */
export type MetricTable = Readonly<Record<string, MetricDeclaration>>
