// Reads parts of the configuration file, and says what is wrong with a field: its path, what was found and what was expected. What is not there is as the
// reader says; nobody asks about fields that Pawl does not have.

import { writeJson } from '../kit/index.ts'
import type { Problem } from '../kit/index.ts'
import { durationMs, EXPECTED_DURATION } from './go-duration.ts'

interface Place {
  /** Its path, for people. */
  readonly at: string
  readonly fields: Readonly<Record<string, unknown>>
}

export interface Section {
  readonly places: readonly Place[]
  /** What this one has not is as the other one has it. */
  beside(other: Section): Section
  section(field: string): Section
  /** Where the field stands, for people. */
  pathOf(field: string): string
  flag(field: string, otherwise: boolean): boolean
  number(field: string, otherwise: number): number
  /** @param none what says that there is none, beside an empty text: as `otherwise`. */
  text(field: string, otherwise: string, none?: false): string
  /** Of a resource, as Kubernetes has it: a text, or a number. */
  quantity(field: string, otherwise: string): string
  /** In milliseconds. */
  duration(field: string, otherwise: number): number
  texts(field: string): readonly string[]
  /** One may stand there by itself. */
  textOrTexts(field: string): readonly string[]
  /** As `text` and `texts`, of what nobody is to read in a log: of a wrong one only the type is told. */
  secret(field: string): string
  secrets(field: string): readonly string[]
  textMap(field: string): Readonly<Record<string, string>>
  records(field: string): readonly object[]
  /** A list whose entries are read one by one; of one that is none its place is told. */
  entries<Entry>(field: string, reads: (entry: unknown) => Entry | undefined, expected: string): readonly Entry[]
}

/** The part at a path, '' for the whole; what is wrong with its fields is added to the problems. */
export function sectionIn(problems: Problem[], at: string, value: unknown): Section {
  return sectionOf(problems, [placeIn(problems, at, value)])
}

function placeIn(problems: Problem[], at: string, value: unknown): Place {
  if (isFields(value)) return { at, fields: value }
  problems.push({ field: at, found: quoted(value), expected: 'fields' })
  return { at, fields: {} }
}

/** Of several places the first that has a field says it. */
function sectionOf(problems: Problem[], places: readonly Place[]): Section {
  const wrong = (field: string, found: string, expected: string) => problems.push({ field, found, expected })
  const placeOf = (field: string) => foundIn(places, field)[0]
  const readerOf =
    (told: (found: unknown) => string) =>
    <T>(field: string, otherwise: T, isOne: (found: unknown) => boolean, expected: string): T => {
      const place = placeOf(field)
      if (place === undefined) return otherwise
      if (isOne(place.value)) return place.value as T
      wrong(place.at, told(place.value), expected)
      return otherwise
    }
  const read = readerOf(quoted)
  const readSecret = readerOf((found) => (Array.isArray(found) ? 'a list' : `a ${typeof found}`))
  return {
    places,
    pathOf: (field) => placeOf(field)?.at ?? field,
    beside: (other) => sectionOf(problems, [...places, ...other.places]),
    section: (field) =>
      sectionOf(
        problems,
        foundIn(places, field).map(({ at, value }) => placeIn(problems, at, value)),
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

// Source: Kubernetes, `resource.Quantity`, less what is negative.
const QUANTITY = /^(\d+\.?\d*|\.\d+)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?\d+)?$/
const EXPECTED_QUANTITY = 'an amount such as 100m or 64Mi'
const isAmount = (value: unknown): value is number => typeof value === 'number' && value >= 0

/** Where the field is something. */
function foundIn(places: readonly Place[], field: string): readonly { readonly at: string; readonly value: unknown }[] {
  return places.flatMap(({ at, fields }) => {
    const value = Object.hasOwn(fields, field) ? fields[field] : undefined
    return isNothing(value) ? [] : [{ at: at === '' ? field : `${at}.${field}`, value }]
  })
}

const isText = (value: unknown): value is string => typeof value === 'string'

/** Of a document: an empty one is nothing. */
export function isNothing(value: unknown): value is undefined | null {
  return value === undefined || value === null
}

function isListOf(value: unknown, isOne: (one: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isOne)
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function quoted(value: unknown): string {
  return writeJson(value).slice(0, 60)
}

export const EXPECTED_URL = 'http:// or https:// with a host, and no user'

/** What is wrong with a URL, without what it has: it may be secret. The sandbox of passes has no `URL`. */
export function urlProblem(url: string): string | undefined {
  if (url === '') return 'nothing'
  const [, authority] = /^https?:\/\/([^/?#\\]+)(?:[/?#][^\s]*)?$/i.exec(url) ?? []
  if (authority === undefined) return 'what is no such URL'
  return authority.includes('@') ? 'a user' : undefined
}
