// Admission rules of a kind: validation, warnings and mutations of objects before the API server stores them. Pure values, one per kind, listed by
// `pawl gen`. The webhook (worker/webhook) calls them.
//
//   A1. A rule never throws, also for malformed objects: a failing webhook would make the failure policy decide.
//   A2. A pure rule sees one object only. The job, or asynchronous rules, check references to other objects.
//   A3. No rule blocks a deletion. The webhook skips objects that are being deleted and changes of metadata or status, except for metadata rules.
//       Metadata
// rules accept everything that users can write while no webhook answers.
//   A4. A mutation rejects nothing, also runs for dry runs, and changes nothing when it runs on its own result: the API server may call it twice.

import type { Kind } from '../kind/kind.ts'
import type { FlagTable, FlagValues, MetricsSource, StatsdEnvironment } from './wing.ts'
import type { Signal } from './level/own-activities.ts'

/** An invalid field. All three texts are for users and never quote values that may be secret. */
export interface Problem {
  /** The field's path in the object, such as `spec.imports.data[1].name`. */
  readonly field: string
  readonly found: string
  readonly expected: string
}

export type AdmissionOperation = 'CREATE' | 'UPDATE'

export interface AdmissionRequest {
  readonly operation: AdmissionOperation
  /** The object that the request would store. */
  readonly object: object
  /** The stored object; only for an UPDATE. */
  readonly old: object | undefined
  readonly user: { readonly name: string; readonly groups: readonly string[] }
}

/** A kind with admission rules. It may be a kind of another API group, such as `v1/Pod`; its schema then names only the fields besides metadata. */
export type AdmissionKind = Pick<
  Kind,
  'group' | 'version' | 'apiVersion' | 'kind' | 'plural' | 'schema' | 'description'
> &
  Partial<Pick<Kind, 'withoutNamespace' | 'rules'>>

/** The value that `<wing>/<kind>/admission.ts` exports. */
export interface Admission {
  readonly kind: AdmissionKind
  readonly operations: readonly AdmissionOperation[]
  /** An iterable, so that the webhook can stop after the number of problems that it reports. */
  readonly validate: (request: AdmissionRequest) => Iterable<Problem>
  /** Loads the rules that read the cluster; the webhook calls them when `validate` found no problem. */
  readonly asyncRules?: () => Promise<AsyncRulesModule>
  /** Rules about changes of metadata, also of objects that are being deleted. */
  readonly metadata?: MetadataRules
  /** Warnings for the user, one short sentence each; called when the object is valid. */
  readonly warnings?: (request: AdmissionRequest) => Iterable<string>
  /** Mutations apply only to objects with this label, with any value; for kinds with very many other objects. */
  readonly labelled?: string
  /** The kind has mutations and no validation; for kinds of other API groups. */
  readonly onlyMutates?: true
  /** Changes of objects before validation and storage. */
  readonly mutations?: readonly Mutation[]
}

/** An annotation key, with any value or with this value only. */
export type AnnotationFilter = string | { readonly annotation: string; readonly value: string }

/**
 * Selects writes: a write matches when at least one condition is true, also when the object is being deleted. The webhook configuration has the same
 * conditions in CEL.
 */
export interface WriteFilter {
  /** The object is new, or changes in more than metadata and status, and is not being deleted. */
  readonly spec?: true
  /** The write adds one of these annotations, or changes its value. */
  readonly annotationsSet?: readonly AnnotationFilter[]
  /** The write removes one of these annotations. */
  readonly annotationsRemoved?: readonly AnnotationFilter[]
  /** The write removes one of these finalizers. */
  readonly finalizersRemoved?: readonly string[]
}

/** Rules about a change of metadata, independent of the rest of the object. */
export interface MetadataRules {
  readonly filter: Omit<WriteFilter, 'spec'>
  readonly validate: (request: AdmissionRequest) => Iterable<Problem>
  /** Warnings for the user when the change is valid, one short sentence each. */
  readonly warnings?: (request: AdmissionRequest) => Iterable<string>
}

/** A mutation is pure (A1, A4), except that it may read the wing's flags. */
export interface Mutation {
  /** A DNS label, unique in the kind: part of the webhook's name, between the kind and the domain. */
  readonly name: string
  readonly filter: WriteFilter
  /** Result of such writes while no webhook answers: the API server accepts them, or one of these operator flags decides. */
  readonly whenUnavailable: 'pass' | 'failure-policy' | 'record-policy'
  /** Undefined: the kind's asynchronous rules compute the change by the mutation's name, because they have the flags. */
  readonly mutate?: (request: AdmissionRequest) => readonly FieldChange[]
}

export interface FieldChange {
  /** Path in the object, such as `['spec', 'size']`, through objects only. Missing parents are created. */
  readonly path: readonly string[]
  /** Undefined removes the field. */
  readonly value: unknown
}

/** The exports of a module with asynchronous rules. Kinds may share a module; the webhook opens it once. */
export interface AsyncRulesModule {
  openAsyncRules(context: AsyncRulesContext): AsyncRules
}

export interface AsyncRulesContext {
  /** Reads with the webhook's account, which has the wing's `webhookRules`. */
  readonly kube: ObjectReader
  /** The wing's flags that the webhook has (`inWebhook`). */
  readonly flags: FlagValues<FlagTable>
  /** The webhook's metrics and the StatsD settings; absent where the webhook counts nothing. */
  readonly metrics?: { readonly source: MetricsSource; readonly statsd: StatsdEnvironment }
  /** The webhook's node; absent when the environment does not name it. */
  readonly nodeName?: string
  /** Logs problems that belong to no request. */
  readonly warn: (details: object, message: string) => void
}

export interface ObjectReader {
  /**
   * Returns the object or list at an API path such as `/api/v1/namespaces/a/configmaps/b`; undefined for 404.
   *
   * @throws for any other error of the API server.
   */
  get<Read extends object>(path: string, options?: ReadOptions): Promise<Read | undefined>
}

export interface ReadOptions {
  /** Query parameters of a list: `labelSelector`, `limit`. */
  readonly query?: Readonly<Record<string, string>>
  /** The signal of the request that the webhook is answering. */
  readonly signal?: Signal
}

/** Rules with bounded time, memory and size that run off the event loop, because users control the object. */
export interface AsyncRules {
  /** @throws when the rule itself fails; the object is then accepted. */
  validate(request: AsyncRequest): Promise<readonly Problem[]>
  /** Like `Admission.warnings`; called when the object is valid. */
  warnings?(request: AsyncRequest): Promise<readonly string[]>
  /** Called for the writes that the kind's metadata rules select, when these found no problem. @throws like `validate`. */
  metadata?(request: AsyncRequest): Promise<readonly Problem[]>
  /** Computes the mutations of a kind that have no `mutate`. Reads nothing (A4). @throws like `validate`; nothing is changed then. */
  mutate?(mutation: string, request: AdmissionRequest & { readonly kind: AdmissionKind }): readonly FieldChange[]
  close(): Promise<void>
}

export interface AsyncRequest extends AdmissionRequest {
  readonly kind: AdmissionKind
  readonly namespace: string
  /** Aborted when the API server has closed the request. */
  readonly signal: Signal
}

export function problemText({ field, found, expected }: Problem): string {
  return `${field === '' ? '' : `${field}: `}found ${found}; expected ${expected}`
}
