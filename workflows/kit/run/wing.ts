// What a wing says of itself beside its kinds and controllers: the flags of the worker that are its own, and what its activities may do to
// kinds that are not its own. Pure, so that the command line and `pawl gen` read it without the activities.
// MERGED What a wing says of its metrics: their names, types and labels, so that they can be listed without the activities. Counted by activities
// (activities/run/metrics.ts), served by the worker for Prometheus.

import type { JsonValue } from '../kind/schema.ts'

interface Described {
  /** What stands behind the flag in the help, such as `<ms>`; in brackets it may be missing, and is `true` then. */
  readonly takes: string
  readonly text: string
  /** The default as the help tells it, where `otherwise` does not say it. */
  readonly default?: string
  /**
   * `pawl dev` has the flag, too, and its processes get what is given of it: `api-server` with the host and port of its API server in front, `as-given`
   * as it is, `own-server` also yes where nothing is given and the API server is its own.
   */
  readonly inDev?: 'api-server' | 'as-given' | 'own-server'
  /** The webhook has the flag, too: its further rules are given the value (admission.ts). */
  readonly inWebhook?: true
  /** It stands in `--help-all` only. */
  readonly seldom?: true
}

/** One flag; `otherwise` is its value when it is not given. */
export type Flag = Described &
  (
    | ({ readonly reads: 'text'; readonly otherwise?: string } & Partial<Checked>)
    | { readonly reads: 'number'; readonly least: number; readonly otherwise: number }
    /** In milliseconds; undefined for `none`. */
    | { readonly reads: 'duration'; readonly otherwise: string }
    | { readonly reads: 'yes-or-no'; readonly otherwise: 'yes' | 'no' }
    | { readonly reads: 'choice'; readonly of: readonly string[]; readonly otherwise: string }
    /** Separated by commas, or given several times; none without the flag. Each is checked. */
    | ({ readonly reads: 'list' } & Checked)
  )

/** What is given is one that `accepts` takes: `expected`, for people. */
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

/** What an account may do to resources: a rule of a role, as Kubernetes has them. */
export interface AccessRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

/** The value that `<wing>/wing.ts` exports; a wing that has neither needs none. */
export interface Wing {
  /** Of the worker. */
  readonly flags: FlagTable
  /** What passes are told (`LevelPass.settings`) where nobody has configured anything: roles for namespaces are made by it. */
  readonly defaultSettings?: JsonValue
  /** What the worker does to kinds of others; its own kinds say so themselves (`workerVerbs`). */
  readonly workerRules: readonly AccessRule[]
  /** What the bridge does beside following kinds; without it nothing. */
  readonly bridgeRules?: readonly AccessRule[]
  /** What the further rules of its admissions read. */
  readonly webhookRules?: readonly AccessRule[]
  /** Kinds of objects in which the engine tells of itself; undefined: the wing has none. */
  readonly statusReports?: StatusReports
  /**
   * Controllers that are there only where somebody wants them: by name, the flag that has to say yes. The bridge has these flags, too, for it follows what
   * such a controller looks at.
   */
  readonly switches?: Readonly<Record<string, string>>
  /** What its activities count; undefined: nothing. */
  readonly metrics?: MetricTable
  /** A process serves it only where `--wings` names it; undefined: also where the flag is not given. Its controllers ask for queues of their own. */
  readonly onlyWhenNamed?: true
  /** Under which names the API server asks the webhook about the wing's kinds (admission.ts); undefined: about none. */
  readonly admission?: WingAdmission
}

/** Names that users and other programs know. */
export interface WingAdmission {
  /** Of the ValidatingWebhookConfiguration. */
  readonly configuration: string
  /** The webhooks of the configuration are called after their kinds, and end in this. */
  readonly domain: string
  /** An object with this label, of value `true`, is not asked about. Undefined: rules that hold users to something know no such label. */
  readonly skipLabel?: string
  /** Of the MutatingWebhookConfiguration; undefined: none of the wing's rules has mutations. No label keeps an object from these. */
  readonly mutation?: { readonly configuration: string; readonly domain: string }
  /** By kind, the counters of what is answered about writes of its objects, each with the label `namespace`; undefined: nothing is counted. */
  readonly counters?: Readonly<Record<string, ReviewCounters>>
}

/** Their names, as Prometheus has them. */
export interface ReviewCounters {
  readonly created: string
  readonly updated: string
  readonly refused: string
  /** Undefined: nobody is asked about deletions. They always pass, and wait for the webhook a second at most. */
  readonly deleted?: string
}

/** A kind, as it is addressed. */
export interface ReportResource {
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
}

/** What the engine says of itself. */
export interface HealthReport {
  readonly state: 'Init' | 'Ok' | 'Failed'
  /** ISO 8601 */
  readonly at: string
  readonly description: string
}

/** A defect that the engine met in itself. */
export interface ProblemReport {
  /** The pod or machine. */
  readonly place: string
  /** ISO 8601 */
  readonly at: string
  readonly description: string
}

export interface StatusReports {
  readonly health: ReportResource & {
    fields(told: HealthReport): object
    /** Undefined: the object says nothing that could be read. */
    read(object: object): Pick<HealthReport, 'state' | 'at'> | undefined
  }
  readonly problems: ReportResource & {
    /** The fields of the object with one more in front of those that it has; the oldest go. */
    with(object: object | undefined, problem: ProblemReport): object
  }
}

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
export interface MetricsObserver {
  /** @param labels also those that are only for who hears. */
  counted(name: string, labels: MetricLabels, by: number): void
  observed(name: string, labels: MetricLabels, seconds: number): void
}

/** What a process counts, to a wing that sends it on. */
export interface MetricsSource {
  addObserver(observer: MetricsObserver): void
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
