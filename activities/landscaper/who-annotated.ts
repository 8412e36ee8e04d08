// Who has set an annotation, and since when, by what the object itself says of it.
//
//   W1. What the object says is no proof: whoever may write the annotation may write that as well. So it is told as not verified.

import { ASKED_ANNOTATION } from '../../workflows/landscaper/contract.ts'
import { fieldsOf, textOf } from '../../workflows/landscaper/json-fields.ts'
import type { KubeObject } from '../kube/client.ts'

const LONGEST_NAME = 100

/** @param what the command line calls it in its record, which is believed where it gives the annotation's value as its reason. */
export function whoAnnotated(
  { metadata }: KubeObject,
  annotation: string,
  what: string,
): { readonly by: string; readonly since?: string } {
  const { manager, time } =
    (metadata.managedFields ?? []).find(({ fieldsV1 }) =>
      Object.hasOwn(fieldsOf(fieldsV1?.['f:metadata']?.['f:annotations']), `f:${annotation}`),
    ) ?? {}
  const person = personIn(metadata.annotations, annotation, what)
  const by = person ?? (manager === undefined ? 'somebody' : `field manager ${manager.slice(0, LONGEST_NAME)}`)
  return { by: `${by} (not verified)`, ...(time !== undefined && { since: time }) }
}

/** Undefined: nobody has asked for it at the command line, or for something else since. */
function personIn(
  annotations: Readonly<Record<string, string>> = {},
  annotation: string,
  what: string,
): string | undefined {
  const asked = fieldsOf(parsed(annotations[ASKED_ANNOTATION]))
  const isOfIt = asked['what'] === what && (textOf(asked['why']) || 'true') === annotations[annotation]
  const by = textOf(asked['by'])
  return isOfIt && by !== '' ? by.slice(0, LONGEST_NAME) : undefined
}

/** Anybody may have written it. */
function parsed(record: string | undefined): unknown {
  try {
    return JSON.parse(record ?? 'null')
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
