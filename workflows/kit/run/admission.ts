// Rules about objects that users write, asked before the API server stores them. Pure values, one per kind, listed by `pawl gen`; who asks is
// the webhook, which knows no kind.
//
//   A1. A rule never throws, whatever stands in the object: a webhook that fails would refuse, or let pass, by its failure policy.
//   A2. A rule sees one object and nothing else. What depends on others is told when a job begins.
//   A3. No rule stands in the way of a deletion: what is being deleted, and what changes in metadata or status alone, is not asked about.
//   A4. A mutation refuses nothing, is asked of dry runs as well, and changes nothing of what it has changed already: it may be asked twice.

import type { Kind } from '../kind/kind.ts'
import type { Signal } from './own-activities.ts'

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

/** The value that `<wing>/<kind>/admission.ts` exports. */
export interface Admission {
  readonly kind: Kind
  readonly operations: readonly AdmissionOperation[]
  /** Who asks takes as many as it tells of: where there may be very many, they are made as they are taken. */
  readonly validate: (request: AdmissionRequest) => Iterable<Problem>
  /** Loads the rules about what has to be read first; asked when `validate` has found nothing. The webhook alone makes the call. */
  readonly further?: () => Promise<FurtherRulesModule>
  /** What is changed in objects before they are judged and stored. */
  readonly mutations?: readonly Mutation[]
}

/** An annotation, with whatever value or with this one alone. */
export type AskedAnnotation = string | { readonly annotation: string; readonly value: string }

/**
 * Which writes are asked about: those of which one of these is true, whatever else they change, and also those to what is being deleted. The API server
 * judges by the same, in CEL.
 */
export interface AskedWrites {
  /** One of these is there and was not, or with another value. */
  readonly annotationsSet?: readonly AskedAnnotation[]
  /** One of these was there and is not. */
  readonly annotationsGone?: readonly AskedAnnotation[]
}

/** Pure (A1, A4). */
export interface Mutation {
  /** Of its entry in the configuration, between the kind and the domain: a DNS label, unique in the kind. */
  readonly name: string
  readonly asked: AskedWrites
  /** What becomes of such writes while no webhook answers: they pass, or it is up to the operator (`--record-policy`). */
  readonly whenAway: 'pass' | 'record-policy'
  readonly mutate: (request: AdmissionRequest) => readonly FieldChange[]
}

export interface FieldChange {
  /** From the object down, such as `['metadata', 'annotations', 'example.org/x']`; what is missing above is made. */
  readonly path: readonly string[]
  /** Undefined: the field goes. */
  readonly value: unknown
}

/** What a module of such rules exports; kinds may share one, which is opened once. */
export interface FurtherRulesModule {
  openFurtherRules(): FurtherRules
}

/** Bounded in time, memory and size, and off the event loop: what is looked into is anybody's. */
export interface FurtherRules {
  /** @throws for what is wrong with itself; the object then passes. */
  validate(request: FurtherRequest): Promise<readonly Problem[]>
  close(): Promise<void>
}

export interface FurtherRequest extends AdmissionRequest {
  readonly kind: Kind
  readonly namespace: string
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: Signal
}

export function problemText({ field, found, expected }: Problem): string {
  return `${field === '' ? '' : `${field}: `}found ${found}, expected ${expected}`
}
