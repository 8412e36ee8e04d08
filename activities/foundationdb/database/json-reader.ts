// Reads fields of a JSON document in which any field may be missing or have another type: such a field reads as missing.

export interface Reader {
  /** The value at a path of field names; a missing one has no fields and no values. */
  at(...path: readonly string[]): Reader
  /** Empty for anything but text. */
  text(): string
  optionalText(): string | undefined
  number(): number | undefined
  boolean(): boolean | undefined
  object(): Readonly<Record<string, unknown>> | undefined
  /** The elements of a list. */
  list(): readonly Reader[]
  /** The values of an object. */
  values(): readonly Reader[]
  /** The fields of an object whose values are text. */
  texts(): Readonly<Record<string, string>>
}

export function readerOf(value: unknown): Reader {
  const object = isObject(value) ? value : undefined
  return {
    at: (...path) =>
      readerOf(path.reduce<unknown>((at, field) => (isObject(at) ? ownField(at, field) : undefined), value)),
    text: () => (typeof value === 'string' ? value : ''),
    optionalText: () => (typeof value === 'string' ? value : undefined),
    number: () => (typeof value === 'number' ? value : undefined),
    boolean: () => (typeof value === 'boolean' ? value : undefined),
    object: () => object,
    list: () => (Array.isArray(value) ? value.map(readerOf) : []),
    values: () => Object.values(object ?? {}).map(readerOf),
    texts: () =>
      Object.fromEntries(
        Object.entries(object ?? {}).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
      ),
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function ownField(object: Readonly<Record<string, unknown>>, field: string): unknown {
  return Object.hasOwn(object, field) ? object[field] : undefined
}
