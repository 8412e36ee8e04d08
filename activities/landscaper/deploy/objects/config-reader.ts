// Readers for values in the manifest deployer's configuration, in addition to maps, lists and texts.
//
// Like Landscaper's decoder, they ignore unknown fields and treat null as an absent field.

import { describe, FieldReader, type Fields, isMap } from './readiness/field-reader.ts'

export type Json = Fields

export { isMap }

export class ConfigReader extends FieldReader {
  constructor() {
    super([])
  }

  /** Records a mistake. `found` describes the value if its type is not enough. */
  wrong(
    field: string,
    value: unknown,
    expected: string,
    found = value === '' ? 'an empty text' : describe(value),
  ): undefined {
    this.refuse(field, found, expected)
    return undefined
  }

  /** A non-empty text; undefined after a mistake. */
  required(value: unknown, field: string): string | undefined {
    return this.text(value ?? undefined, field) || undefined
  }

  /** One of the words; absent and empty values mean the default. */
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

  /** A map of texts, such as labels and annotations. */
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
