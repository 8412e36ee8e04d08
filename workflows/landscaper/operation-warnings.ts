// Reports values of the operation annotation that start nothing, such as `Reconcile` with a capital: the webhook warns the client that writes the
// value, and a Warning Event on the object reports it where no webhook runs. Pure.

import {
  type AdmissionRequest,
  annotation,
  type MetadataRules,
  type RoutedEvent,
  textAt,
  type RunRequest,
} from '../kit/index.ts'
import { OPERATION_ANNOTATION, RETRY_OPERATION } from './contract.ts'
import { shownName } from './item-rules.ts'

/** The values that each kind supports, the recommended value first. */
export const OPERATIONS = {
  installation: ['reconcile', 'interrupt'],
  // Landscaper leaves `reconcile` on Executions, where it starts nothing.
  execution: ['interrupt', 'reconcile'],
  deployItem: [RETRY_OPERATION],
  targetSync: ['reconcile'],
} as const satisfies Readonly<Record<string, readonly string[]>>

/** The cause of a wake that reports the value. */
export const UNKNOWN_OPERATION = 'unknown operation annotation'

/** The webhook's rule for a kind. */
export function operationRules(known: readonly string[]): MetadataRules {
  return {
    filter: { annotationsSet: [OPERATION_ANNOTATION] },
    validate: () => [],
    warnings: ({ object }: AdmissionRequest) => {
      const problem = operationProblem(object, known)
      return problem === undefined ? [] : [problem]
    },
  }
}

/** Describes the value if it is unknown. Accepts objects and projections. */
export function operationProblem(object: object, known: readonly string[]): string | undefined {
  const value = textAt(object, annotation(OPERATION_ANNOTATION)) ?? ''
  if (value === '' || known.includes(value)) return undefined
  const expected = known.map((one) => `"${one}"`).join(' or ')
  return `annotation ${OPERATION_ANNOTATION}: found "${shownName(value)}", which starts nothing; expected ${expected}`
}

/** Whether the event sets the annotation to an unknown value. */
export function setsUnknownOperation({ projection, previous }: RoutedEvent, known: readonly string[]): boolean {
  const problem = operationProblem(projection, known)
  return problem !== undefined && problem !== (previous && operationProblem(previous, known))
}

/** No run, and a Warning Event, for an idle object whose annotation has an unknown value; undefined for all others. */
export function unknownOperationRun(object: object, known: readonly string[]): RunRequest | undefined {
  const message = operationProblem(object, known)
  if (message === undefined) return undefined
  return { none: UNKNOWN_OPERATION, warning: { operation: 'Reconcile', reason: 'UnknownOperation', message } }
}
