// Warns users whose operation annotation has a value that starts nothing, such as `Reconcile` with a capital: the webhook answers the write with it.

import type { AdmissionRequest, MetadataRules } from '../kit/index.ts'
import { OPERATION_ANNOTATION } from './contract.ts'
import { shownName } from './item-rules.ts'
import { fieldsOf, textOf } from './json-fields.ts'

/** @param known the values that mean something to the kind, the one to recommend first. */
export function operationRules(known: readonly string[]): MetadataRules {
  return {
    asked: { annotationsSet: [OPERATION_ANNOTATION] },
    validate: () => [],
    warnings: (request) => operationWarnings(request, known),
  }
}

function operationWarnings({ object }: AdmissionRequest, known: readonly string[]): readonly string[] {
  const { annotations } = fieldsOf(fieldsOf(object)['metadata'])
  const value = textOf(fieldsOf(annotations)[OPERATION_ANNOTATION])
  if (value === '' || known.includes(value)) return []
  const expected = known.map((one) => `"${one}"`).join(' or ')
  return [`annotation ${OPERATION_ANNOTATION}: found "${shownName(value)}", which starts nothing; expected ${expected}`]
}
