// Rules about objects that users write, asked before the API server stores them. Pure values, one per kind, listed by `pawl gen`; who asks is
// the webhook, which knows no kind.
//
//   A1. A rule never throws, whatever stands in the object: a webhook that fails would refuse, or let pass, by its failure policy.
//   A2. A rule sees one object and nothing else. What depends on others is told when a job begins, or by further rules.
//   A3. No rule stands in the way of a deletion: what is being deleted, and what changes in metadata or status alone, is not asked about, but by rules about
//       metadata, and these let pass whatever is written while no webhook answers.
//   A4. A mutation refuses nothing, is asked of dry runs as well, and changes nothing of what it has changed already: it may be asked twice.

import type { Kind } from '../kind/kind.ts'
import type { FlagTable, FlagValues, MetricsSource, StatsdEnvironment } from './wing.ts'
import type { Signal } from './level/own-activities.ts'

/** What is wrong with one field: all three for people. Values that may be secret are not quoted. */
export interface Problem {
  /** Its path from the object, such as `spec.imports.data[1].name`. */
  readonly field: string
  readonly found: string
  readonly expected: string
}

export type AdmissionOperation = 'CREATE' | 'UPDATE'

export interface AdmissionRequest {
  readonly operation: AdmissionOperation
  /** As it would be stored. */
  readonly object: object
  /** As it is stored; of an UPDATE. */
  readonly old: object | undefined
  readonly user: { readonly name: string; readonly groups: readonly string[] }
}

/** A kind that is asked about; it may be one of others, such as `v1/Pod`, of which the schema names the fields beside metadata alone. */
export type AdmissionKind = Pick<
  Kind,
  'group' | 'version' | 'apiVersion' | 'kind' | 'plural' | 'schema' | 'description'
> &
  Partial<Pick<Kind, 'withoutNamespace' | 'rules'>>

/** The value that `<wing>/<kind>/admission.ts` exports. */
export interface Admission {
  readonly kind: AdmissionKind
  readonly operations: readonly AdmissionOperation[]
  /** Who asks takes as many as it tells of: where there may be very many, they are made as they are taken. */
  readonly validate: (request: AdmissionRequest) => Iterable<Problem>
  /** Loads the rules about what has to be read first; asked when `validate` has found nothing. The webhook alone makes the call. */
  readonly asyncRules?: () => Promise<AsyncRulesModule>
  /** About changes of metadata, also of what is being deleted. */
  readonly metadata?: MetadataRules
  /** What whoever writes is told of what may be stored, a short sentence each; asked where `validate` is, when nothing is wrong. */
  readonly warnings?: (request: AdmissionRequest) => Iterable<string>
  /** Only objects with this label, of whatever value, are asked about by mutations: where there are very many others. */
  readonly labelled?: string
  /** Nobody is asked whether objects may be stored: of kinds of others. */
  readonly onlyMutates?: true
  /** What is changed in objects before they are judged and stored. */
  readonly mutations?: readonly Mutation[]
}

/** An annotation, with whatever value or with this one alone. */
export type AnnotationFilter = string | { readonly annotation: string; readonly value: string }

/**
 * Which writes are asked about: those of which one of these is true, whatever else they change, and also those to what is being deleted. The API server
 * judges by the same, in CEL.
 */
export interface WriteFilter {
  /** It is new, or changes in more than metadata and status, and is not being deleted. */
  readonly spec?: true
  /** One of these is there and was not, or with another value. */
  readonly annotationsSet?: readonly AnnotationFilter[]
  /** One of these was there and is not. */
  readonly annotationsRemoved?: readonly AnnotationFilter[]
  /** One of these was there and is not. */
  readonly finalizersRemoved?: readonly string[]
}

/** Rules that `validate` does not have: what is wrong with a change of metadata, whatever else stands in the object. */
export interface MetadataRules {
  readonly filter: Omit<WriteFilter, 'spec'>
  readonly validate: (request: AdmissionRequest) => Iterable<Problem>
  /** What the writer reads when nothing is wrong, a short sentence each. */
  readonly warnings?: (request: AdmissionRequest) => Iterable<string>
}

/** Pure (A1, A4), but for the flags of the wing. */
export interface Mutation {
  /** Of its entry in the configuration, between the kind and the domain: a DNS label, unique in the kind. */
  readonly name: string
  readonly filter: WriteFilter
  /** What becomes of such writes while no webhook answers: they pass, or it is up to the operator, by one of these flags. */
  readonly whenUnavailable: 'pass' | 'failure-policy' | 'record-policy'
  /** Undefined: the kind's further rules say what changes, by the name, for they have the flags. */
  readonly mutate?: (request: AdmissionRequest) => readonly FieldChange[]
}

export interface FieldChange {
  /** From the object down, such as `['spec', 'size']`, through objects and no lists; what is missing above is made. */
  readonly path: readonly string[]
  /** Undefined: the field goes. */
  readonly value: unknown
}

/** What a module of such rules exports; kinds may share one, which is opened once. */
export interface AsyncRulesModule {
  openAsyncRules(context: AsyncRulesContext): AsyncRules
}

export interface AsyncRulesContext {
  /** What the webhook's account may read: the `webhookRules` of the wing. */
  readonly kube: ObjectReader
  /** Those flags of the wing that the webhook has (`inWebhook`). */
  readonly flags: FlagValues<FlagTable>
  /** What the webhook counts, and where metrics are sent; absent where it counts nothing. */
  readonly metrics?: { readonly source: MetricsSource; readonly statsd: StatsdEnvironment }
  /** The node on which the webhook runs; absent: nobody has said it. */
  readonly nodeName?: string
  /** For what no answer can say. */
  readonly warn: (details: object, message: string) => void
}

export interface ObjectReader {
  /**
   * The object, or the list, at a path of the API such as `/api/v1/namespaces/a/configmaps/b`; undefined where there is none.
   *
   * @throws what else the API server answers, or that it does not.
   */
  get<Read extends object>(path: string, options?: ReadOptions): Promise<Read | undefined>
}

export interface ReadOptions {
  /** Of a list: `labelSelector`, `limit`. */
  readonly query?: Readonly<Record<string, string>>
  /** That of the request that is answered. */
  readonly signal?: Signal
}

/** Bounded in time, memory and size, and off the event loop: what is looked into is anybody's. */
export interface AsyncRules {
  /** @throws for what is wrong with itself; the object then passes. */
  validate(request: AsyncRequest): Promise<readonly Problem[]>
  /** As of an admission; asked when nothing is wrong. */
  warnings?(request: AsyncRequest): Promise<readonly string[]>
  /** About the writes that the kind's rules about metadata are asked of, when these have found nothing. @throws as `validate`. */
  metadata?(request: AsyncRequest): Promise<readonly Problem[]>
  /** Makes the mutations of a kind that have no `mutate` of their own. Reads nothing (A4). @throws as `validate`: nothing is changed. */
  mutate?(mutation: string, request: AdmissionRequest & { readonly kind: AdmissionKind }): readonly FieldChange[]
  close(): Promise<void>
}

export interface AsyncRequest extends AdmissionRequest {
  readonly kind: AdmissionKind
  readonly namespace: string
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: Signal
}

export function problemText({ field, found, expected }: Problem): string {
  return `${field === '' ? '' : `${field}: `}found ${found}, expected ${expected}`
}
