// Values of Secrets by reference: an action says where a value stands, and the activity that sends the object fills it in. Pure.
//
//   S1. A value enters neither history nor journal: what travels is the object with gaps, and where each gap's value stands.
//   S2. A reference is made by code alone. Nothing in JSON is one, so what a user writes into an object refers to nothing.

// One for all copies of the kit in a process.
const PARTS = Symbol.for('pawl.dev/secret-value')

/** Where a value stands: a key of a Secret. */
export interface SecretKey {
  readonly secret: string
  readonly key: string
  /** For targets in no namespace; others read their own. */
  readonly namespace?: string
}

/** Made by `secretRef` and `secretText`. */
export class SecretValue {
  readonly [PARTS]: readonly (string | SecretKey)[]

  constructor(parts: readonly (string | SecretKey)[]) {
    this[PARTS] = parts
  }

  /** @throws a plain Error: it stands where nothing fills it in. */
  toJSON(): never {
    throw new Error(
      'a value of a Secret is used where nothing fills it in; expected it in an object that is written, or in what an activity is called with',
    )
  }
}

/** The value of a key of a Secret in the target's namespace, for an object that is written, or for what an activity of one's own is called with. */
export function secretRef(secret: string, key: string, namespace?: string): SecretValue {
  return new SecretValue([{ secret, key, ...(namespace !== undefined && { namespace }) }])
}

/** A text with values of Secrets in it: `` secretText`postgres://app:${secretRef('db', 'password')}@db/shop` ``. */
export function secretText(texts: TemplateStringsArray, ...values: readonly (string | SecretValue)[]): SecretValue {
  return new SecretValue(
    texts.flatMap((text, index) => {
      const value = values[index]
      return [text, ...(value === undefined ? [] : typeof value === 'string' ? [value] : value[PARTS])]
    }),
  )
}

/** A value in which texts may be values of Secrets. */
export type WithSecrets<Value> = Value extends readonly (infer Item)[]
  ? readonly WithSecrets<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: WithSecrets<Value[Key]> }
    : string extends Value
      ? Value | SecretValue
      : Value

/** A gap in what travels, and what it is to be filled with. */
export interface SecretGap {
  readonly at: readonly (string | number)[]
  readonly parts: readonly (string | SecretKey)[]
}

/** What travels in place of a value: empty texts where gaps are (S1). */
export function takeSecrets<Value>(value: Value): { readonly value: Value; readonly gaps: readonly SecretGap[] } {
  const gaps: SecretGap[] = []
  const taken = replaced(value, [], (at, parts) => {
    gaps.push({ at, parts })
    return ''
  })
  return { value: (gaps.length === 0 ? value : taken) as Value, gaps }
}

/** The value as a test sees it: references as texts that name them, `<db/password>`. */
export function renderSecretRefs<Value>(value: Value): Value {
  const told = (part: string | SecretKey) => (typeof part === 'string' ? part : `<${part.secret}/${part.key}>`)
  return replaced(value, [], (_, parts) => parts.map(told).join('')) as Value
}

type Replace = (at: SecretGap['at'], parts: SecretGap['parts']) => string

function replaced(value: unknown, at: SecretGap['at'], replace: Replace): unknown {
  const parts = partsOf(value)
  if (parts !== undefined) return replace(at, parts)
  if (Array.isArray(value)) return value.map((item: unknown, index) => replaced(item, [...at, index], replace))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, replaced(field, [...at, key], replace)]))
}

function partsOf(value: unknown): readonly (string | SecretKey)[] | undefined {
  // Another copy of the kit has another class.
  return typeof value === 'object' && value !== null && PARTS in value ? (value as SecretValue)[PARTS] : undefined
}
