// Reads sections of the configuration file and collects problems: the path of the field, the actual and the expected
// value. A missing field gets the reader's default; unknown fields are ignored.

import { writeJson, isFields } from '../kit/index.ts'
import type { Problem } from '../kit/index.ts'
import { durationMs, EXPECTED_DURATION } from './go-duration.ts'

interface Place {
  /** The path, for messages. */
  readonly at: string
  readonly fields: Readonly<Record<string, unknown>>
}

export interface Section {
  readonly places: readonly Place[]
  /** A section that falls back to `other` for missing fields. */
  withFallback(other: Section): Section
  section(field: string): Section
  /** The path of the field, for messages. */
  pathOf(field: string): string
  flag(field: string, otherwise: boolean): boolean
  number(field: string, otherwise: number): number
  /** @param none a value that means "not set", like an empty text. */
  text(field: string, otherwise: string, none?: false): string
  /** A Kubernetes resource quantity: a text or a number. */
  quantity(field: string, otherwise: string): string
  /** In milliseconds. */
  duration(field: string, otherwise: number): number
  texts(field: string): readonly string[]
  /** Accepts a single text as well. */
  textOrTexts(field: string): readonly string[]
  /**
   * Like `text` and `texts`, but a problem shows only the type of a wrong value, because logs must not contain secrets.
   */
  secret(field: string): string
  secrets(field: string): readonly string[]
  textMap(field: string): Readonly<Record<string, string>>
  records(field: string): readonly object[]
  /** A list whose entries are parsed one by one; a problem names the index of a wrong entry. */
  entries<Entry>(field: string, reads: (entry: unknown) => Entry | undefined, expected: string): readonly Entry[]
}

/** The section at a path, '' for the whole document; problems of its fields are added to `problems`. */
export function sectionIn(problems: Problem[], at: string, value: unknown): Section {
  return sectionOf(problems, [placeIn(problems, at, value)])
}

function placeIn(problems: Problem[], at: string, value: unknown): Place {
  if (isFields(value)) return { at, fields: value }
  problems.push({ field: at, found: quoted(value), expected: 'fields' })
  return { at, fields: {} }
}

/** Reads a field from the first place that has it. */
function sectionOf(problems: Problem[], places: readonly Place[]): Section {
  const wrong = (field: string, found: string, expected: string) => problems.push({ field, found, expected })
  const placeOf = (field: string) => valuesAt(places, field)[0]
  const readerOf =
    (formatProblem: (found: unknown) => string) =>
    <T>(field: string, otherwise: T, isOne: (found: unknown) => boolean, expected: string): T => {
      const place = placeOf(field)
      if (place === undefined) return otherwise
      if (isOne(place.value)) return place.value as T
      wrong(place.at, formatProblem(place.value), expected)
      return otherwise
    }
  const read = readerOf(quoted)
  const readSecret = readerOf((found) => (Array.isArray(found) ? 'a list' : `a ${typeof found}`))
  return {
    places,
    pathOf: (field) => placeOf(field)?.at ?? field,
    withFallback: (other) => sectionOf(problems, [...places, ...other.places]),
    section: (field) =>
      sectionOf(
        problems,
        valuesAt(places, field).map(({ at, value }) => placeIn(problems, at, value)),
      ),
    flag: (field, otherwise) => read(field, otherwise, (one) => typeof one === 'boolean', 'true or false'),
    number: (field, otherwise) => read(field, otherwise, (one) => Number.isInteger(one), 'a whole number'),
    text(field, otherwise, none) {
      const found = read<string | false>(field, otherwise, (one) => isText(one) || one === none, 'a text')
      return found === false ? otherwise : found
    },
    quantity(field, otherwise) {
      const isOne = (one: unknown) => one === '' || (isText(one) ? QUANTITY.test(one) : isAmount(one))
      return String(read<unknown>(field, '', isOne, EXPECTED_QUANTITY)) || otherwise
    },
    duration(field, otherwise) {
      const found = read<unknown>(field, undefined, (one) => durationMs(one) !== undefined, EXPECTED_DURATION)
      return durationMs(found) ?? otherwise
    },
    texts: (field) => read(field, [], (one) => isListOf(one, isText), 'a list of texts'),
    textOrTexts(field) {
      const isEither = (one: unknown) => isText(one) || isListOf(one, isText)
      const found = read<string | readonly string[]>(field, [], isEither, 'a text or a list of texts')
      return (typeof found === 'string' ? [found] : found).filter((text) => text !== '')
    },
    secret: (field) => readSecret(field, '', isText, 'a text'),
    secrets: (field) => readSecret(field, [], (one) => isListOf(one, isText), 'a list of texts'),
    textMap: (field) =>
      read(field, {}, (one) => isFields(one) && Object.values(one).every(isText), 'fields with texts'),
    records: (field) => read(field, [], (one) => isListOf(one, isFields), 'a list of objects'),
    entries(field, reads, expected) {
      const found = read<readonly unknown[]>(field, [], Array.isArray, 'a list')
      return found.flatMap((one, at) => {
        const entry = reads(one)
        if (entry === undefined) wrong(`${placeOf(field)?.at ?? field}[${at}]`, quoted(one), expected)
        return entry === undefined ? [] : [entry]
      })
    },
  }
}

// Source: Kubernetes, `resource.Quantity`, without negative amounts.
const QUANTITY = /^(\d+\.?\d*|\.\d+)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?\d+)?$/
const EXPECTED_QUANTITY = 'a quantity such as 100m or 64Mi'
const isAmount = (value: unknown): value is number => typeof value === 'number' && value >= 0

/** The places where the field has a value. */
function valuesAt(
  places: readonly Place[],
  field: string,
): readonly { readonly at: string; readonly value: unknown }[] {
  return places.flatMap(({ at, fields }) => {
    const value = Object.hasOwn(fields, field) ? fields[field] : undefined
    return isNothing(value) ? [] : [{ at: at === '' ? field : `${at}.${field}`, value }]
  })
}

const isText = (value: unknown): value is string => typeof value === 'string'

/** An empty document is undefined or null. */
export function isNothing(value: unknown): value is undefined | null {
  return value === undefined || value === null
}

function isListOf(value: unknown, isOne: (one: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isOne)
}

function quoted(value: unknown): string {
  return writeJson(value).slice(0, 60)
}

export const EXPECTED_URL = 'a URL with http:// or https:// and a host, without a user'

/** Checks a URL without showing it, because it may be secret. The workflow sandbox has no `URL`. */
export function urlProblem(url: string): string | undefined {
  if (url === '') return 'nothing'
  const [, authority] = /^https?:\/\/([^/?#\\]+)(?:[/?#][^\s]*)?$/i.exec(url) ?? []
  if (authority === undefined) return 'an invalid URL'
  return authority.includes('@') ? 'a user' : undefined
}
