// What rules read of what users wrote, beside what the kit reads.

import { hasField, type JsonFields } from '../kit/index.ts'

export { fieldsOf, hasField as has, type JsonFields, listOf, textOf } from '../kit/index.ts'

/** Which of these fields have values; an empty text is none. */
export function present(fields: JsonFields, names: readonly string[]): readonly string[] {
  return names.filter((name) => hasField(fields, name) && fields[name] !== '')
}
