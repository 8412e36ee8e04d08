// Who has set an annotation, and since when, by what the object itself says of it.
//
//   W1. What the object says is no proof: whoever may write the annotation may write that as well. So it is told as not verified, but for what the
//       webhook has recorded where that is to be believed (trust.ts).

import { ASKED_ANNOTATION } from '../../workflows/landscaper/contract.ts'
import { fieldsOf, textOf } from '../../workflows/landscaper/json-fields.ts'
import { recordedName } from '../../workflows/landscaper/steered-by.ts'
import type { KubeObject } from '../kube/client.ts'
import type { Trust } from './trust.ts'

const MAX_NAME_LENGTH = 100
/** What stands behind a name that nothing proves. */
export const NOT_VERIFIED = ' (not verified)'

/**
 * @param what the command line calls it in its record, which is believed where it gives the annotation's value as its reason.
 * @param value of an annotation that does not say the reason.
 */
export function whoAnnotated(
  object: KubeObject,
  annotation: string,
  { what, trust, value }: { readonly what: string; readonly trust: Trust; readonly value?: string },
): { readonly by: string; readonly since?: string } {
  const { metadata } = object
  const { manager, time } =
    (metadata.managedFields ?? []).find(({ fieldsV1 }) =>
      Object.hasOwn(fieldsOf(fieldsV1?.['f:metadata']?.['f:annotations']), `f:${annotation}`),
    ) ?? {}
  const since = time !== undefined && { since: time }
  const proven = trust.isVouched ? recordedName(object, annotation) : undefined
  if (proven !== undefined) return { by: proven, ...since }
  const person = personIn(metadata.annotations, annotation, { what, value })
  const by = person ?? (manager === undefined ? 'somebody' : `field manager ${manager.slice(0, MAX_NAME_LENGTH)}`)
  return { by: `${by}${NOT_VERIFIED}`, ...since }
}

/** Undefined: nobody has asked for it at the command line, or for something else since. */
function personIn(
  annotations: Readonly<Record<string, string>> = {},
  annotation: string,
  { what, value }: { readonly what: string; readonly value: string | undefined },
): string | undefined {
  const asked = fieldsOf(parsed(annotations[ASKED_ANNOTATION]))
  const isOfIt = asked['what'] === what && (value ?? (textOf(asked['why']) || 'true')) === annotations[annotation]
  const by = textOf(asked['by'])
  return isOfIt && by !== '' ? by.slice(0, MAX_NAME_LENGTH) : undefined
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
