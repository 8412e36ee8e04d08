// What the manifest deployer's configuration has beyond maps, lists and texts.
//
// As the original's decoder does, unknown fields are ignored and a null is as good as no field.

import { describe, FieldReader, type Fields, isMap } from './readiness/field-reader.ts'

export type Json = Fields

export { isMap }

export class ConfigReader extends FieldReader {
  constructor() {
    super([])
  }

  /** Notes a mistake; `found` when it is more than the kind of the value. */
  wrong(field: string, value: unknown, expected: string, found = value === '' ? 'empty' : describe(value)): undefined {
    this.refuse(field, found, expected)
    return undefined
  }

  /** A text that is not empty; undefined after a mistake. */
  required(value: unknown, field: string): string | undefined {
    return this.text(value ?? undefined, field) || undefined
  }

  /** One of the words; absent and empty are the default. */
  word<Word extends string, Otherwise extends Word | undefined>(
    value: unknown,
    field: string,
    words: readonly Word[],
    otherwise: Otherwise,
  ): Word | Otherwise {
    if (value === undefined || value === null || value === '') return otherwise
    const word = words.find((one) => one === value)
    if (word !== undefined) return word
    this.wrong(field, value, `one of ${words.join(', ')}`)
    return otherwise
  }

  texts(value: unknown, field: string): readonly string[] {
    return this.list(value, field).flatMap((entry, index) => this.required(entry, `${field}[${index}]`) ?? [])
  }

  /** A map of texts, as labels and annotations are. */
  textMap(value: unknown, field: string): Readonly<Record<string, string>> {
    const entries = Object.entries(this.map(value, field) ?? {})
    const texts = entries.flatMap(([key, entry]): [string, string][] => {
      if (typeof entry === 'string') return [[key, entry]]
      this.wrong(`${field}[${JSON.stringify(key)}]`, entry, 'a text')
      return []
    })
    return Object.fromEntries(texts)
  }
}
