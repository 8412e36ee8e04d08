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

export type MetricLabels = Readonly<Record<string, string>>

/** Hears of each change when it is made, for those who are sent metrics in place of asking for them. Throws nothing. */
export interface MetricsHearer {
  /** @param labels also those that are only for who hears. */
  counted(name: string, labels: MetricLabels, by: number): void
  observed(name: string, labels: MetricLabels, seconds: number): void
}

/** What a process counts, to a wing that sends it on. */
export interface MetricsSource {
  hear(hearer: MetricsHearer): void
}

/** Where metrics are sent by the protocol of StatsD, as the environment of a process says it. */
export interface StatsdEnvironment {
  /** `$STATSD_URL`. */
  readonly url?: string
  /** `$DD_AGENT_HOST`: the agent of this node. */
  readonly agentHost?: string
  /** `$DD_DOGSTATSD_PORT`, beside it. */
  readonly agentPort?: string
}
