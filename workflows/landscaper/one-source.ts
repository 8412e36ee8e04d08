// Records of which exactly one of some fields has to have a value: said in CEL, so that the API server keeps it without a webhook.
// Source: spec/landscaper.md 5.3.

import { type Fields, record } from '../kit/index.ts'

/** @param sources the fields; an empty text is no value, as clients of the original leave out what is empty. */
export function recordWithOne<F extends Fields>(
  description: string,
  fields: F,
  sources: readonly (keyof F & string)[],
) {
  const values = sources.map((name) => `has(self.${name})${isText(fields, name) ? ` && self.${name} != ''` : ''}`)
  const rule = `[${values.join(', ')}].exists_one(found, found)`
  return record(description, fields, { rules: [{ rule, message: `expected exactly one of ${sources.join(', ')}` }] })
}

function isText(fields: Fields, name: string): boolean {
  return fields[name]?.schema.type === 'string'
}
