// Readers for unchecked JSON of users, in addition to those of the kit.

import { hasField, type JsonFields } from '../kit/index.ts'

export { fieldsOf, hasField as has, type JsonFields, listOf, textOf } from '../kit/index.ts'

/** The names of the fields that have values; an empty text is no value. */
export function present(fields: JsonFields, names: readonly string[]): readonly string[] {
  return names.filter((name) => hasField(fields, name) && fields[name] !== '')
}
