// The declarations of a wing besides its kinds and controllers: flags, RBAC rules, metrics and webhook names. Pure, so that the command line and
// `pawl gen` read them without loading activities.

import type { JsonValue } from '../kind/schema.ts'

interface Described {
  /** The value's placeholder in the help, such as `<ms>`; in brackets when the value is optional and defaults to `true`. */
  readonly takes: string
  readonly text: string
  /** The default value in the help, where it differs from `otherwise`. */
  readonly default?: string
  /**
   * `pawl dev` has the flag too and passes it to its processes: `as-given` unchanged, `api-server` with host and port of its API server prepended,
   * `own-server` with yes by default when it runs its own API server.
   */
  readonly inDev?: 'api-server' | 'as-given' | 'own-server'
  /** The webhook has the flag too, and its asynchronous rules get the value (admission.ts). */
  readonly inWebhook?: true
  /** Only `--help-all` lists the flag. */
  readonly seldom?: true
}

/** One flag; `otherwise` is its default value. */
export type Flag = Described &
  (
    | ({ readonly reads: 'text'; readonly otherwise?: string } & Partial<Checked>)
    | { readonly reads: 'number'; readonly least: number; readonly otherwise: number }
    /** In milliseconds; undefined for `none`. */
    | { readonly reads: 'duration'; readonly otherwise: string }
    | { readonly reads: 'yes-or-no'; readonly otherwise: 'yes' | 'no' }
    | { readonly reads: 'choice'; readonly of: readonly string[]; readonly otherwise: string }
    /** Comma-separated or repeated; empty by default. Each entry is checked. */
    | ({ readonly reads: 'list' } & Checked)
  )

/** `accepts` checks a value; `expected` describes valid values for users. */
interface Checked {
  readonly accepts: (entry: string) => boolean
  readonly expected: string
}

/** Flags by name, in the order of the help. */
export type FlagTable = Readonly<Record<string, Flag>>

/** The type of a flag's value. */
export type FlagValue<F> = F extends { readonly reads: 'number' }
  ? number
  : F extends { readonly reads: 'duration' }
    ? number | undefined
    : F extends { readonly reads: 'yes-or-no' }
      ? boolean
      : F extends { readonly reads: 'list' }
        ? readonly string[]
        : F extends { readonly reads: 'choice'; readonly of: readonly (infer Choice)[] }
          ? Choice
          : F extends { readonly otherwise: string }
            ? string
            : string | undefined

export type FlagValues<Table extends FlagTable> = { readonly [Name in keyof Table]: FlagValue<Table[Name]> }

/** A rule of a Kubernetes role. */
export interface AccessRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

/** The value that `<wing>/wing.ts` exports. A wing without flags and rules has none. */
export interface Wing {
  /** Flags of the worker. */
  readonly flags: FlagTable
  /** The settings of passes (`LevelPass.settings`) without configuration; `pawl gen` creates namespaced roles from them. */
  readonly defaultSettings?: JsonValue
  /** Rights of the worker for other groups' kinds. The wing's own kinds declare `workerVerbs`. */
  readonly workerRules: readonly AccessRule[]
  /** Rights of the bridge in addition to watching kinds; default none. */
  readonly bridgeRules?: readonly AccessRule[]
  /** Rights of the webhook for its asynchronous rules. */
  readonly webhookRules?: readonly AccessRule[]
  /** Objects in which the engine reports its health and problems; undefined: the wing has none. */
  readonly statusReports?: StatusReports
  /**
   * Optional controllers: controller name to the flag that enables it with yes. The bridge has these flags too, because it watches the controller's
   * kinds.
   */
  readonly switches?: Readonly<Record<string, string>>
  /** Metrics of its activities; default none. */
  readonly metrics?: MetricTable
  /** A process runs the wing only when `--wings` names it; default: also without the flag. Its controllers have their own task queues. */
  readonly onlyWhenNamed?: true
  /** Names of the wing's webhooks (admission.ts); undefined: the wing has no admission rules. */
  readonly admission?: WingAdmission
}

/** Names that users and other programs rely on. */
export interface WingAdmission {
  /** Name of the ValidatingWebhookConfiguration. */
  readonly configuration: string
  /** Suffix of the webhooks' names, after the kind. */
  readonly domain: string
  /** Objects with this label and the value `true` skip validation. Undefined: users cannot skip the rules. */
  readonly skipLabel?: string
  /** The MutatingWebhookConfiguration; undefined: the wing has no mutations. No label skips mutations. */
  readonly mutation?: { readonly configuration: string; readonly domain: string }
  /** By kind: counters of admission reviews, each with the label `namespace`; undefined: no counters. */
  readonly counters?: Readonly<Record<string, ReviewCounters>>
}

/** Prometheus metric names. */
export interface ReviewCounters {
  readonly created: string
  readonly updated: string
  readonly refused: string
  /** Undefined: the webhook does not review deletions. It always accepts them; a deletion waits for the webhook for at most 1 s. */
  readonly deleted?: string
}

/** API resource of a kind. */
export interface ReportResource {
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
}

/** The engine's health. */
export interface HealthReport {
  readonly state: 'Init' | 'Ok' | 'Failed'
  /** ISO 8601 */
  readonly at: string
  readonly description: string
}

/** A defect that the engine found in itself. */
export interface ProblemReport {
  /** The pod or machine. */
  readonly place: string
  /** ISO 8601 */
  readonly at: string
  readonly description: string
}

export interface StatusReports {
  readonly health: ReportResource & {
    fields(report: HealthReport): object
    /** Undefined: the object contains no readable health. */
    read(object: object): Pick<HealthReport, 'state' | 'at'> | undefined
  }
  readonly problems: ReportResource & {
    /** Returns the object's fields with the problem added in front; the oldest problems are removed. */
    with(object: object | undefined, problem: ProblemReport): object
  }
}

/** Declaration of a Prometheus metric. Activities count them (activities/run/metrics.ts); the worker serves them. */
export interface MetricDeclaration {
  /** A `histogram` counts seconds, unless its name says otherwise. */
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** One sentence in one line. */
  readonly help: string
  /** Label names; absent: none. Labels must have few different values, because a worker keeps each series. */
  readonly labels?: readonly string[]
  /** Upper bounds of a histogram; absent: from 10 ms to two hours. */
  readonly buckets?: readonly number[]
}

/** Metrics by name, as Prometheus allows names. */
export type MetricTable = Readonly<Record<string, MetricDeclaration>>

export type MetricLabels = Readonly<Record<string, string>>

/** Observes each change, to push metrics to another system. Must not throw. */
export interface MetricsObserver {
  /** @param labels includes labels that only observers get. */
  counted(name: string, labels: MetricLabels, by: number): void
  observed(name: string, labels: MetricLabels, seconds: number): void
}

/** The metrics of a process, for observers. */
export interface MetricsSource {
  addObserver(observer: MetricsObserver): void
}

/** StatsD settings from the environment of the process. */
export interface StatsdEnvironment {
  /** `$STATSD_URL`. */
  readonly url?: string
  /** `$DD_AGENT_HOST`: the agent on this node. */
  readonly agentHost?: string
  /** `$DD_DOGSTATSD_PORT`. */
  readonly agentPort?: string
}
