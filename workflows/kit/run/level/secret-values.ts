// References to Secret values: an action names the Secret and key, and the activity that sends the object fills in the value. Pure.
//
//   S1. A value enters neither history nor journal: inputs contain the object with gaps and the reference of each gap.
//   S2. Only code creates references. JSON cannot contain one, so users' objects cannot refer to Secrets.

// Shared by all copies of the kit in a process.
const PARTS = Symbol.for('pawl.dev/secret-value')

/** A key of a Secret. */
export interface SecretKey {
  readonly secret: string
  readonly key: string
  /** For cluster-scoped targets; other targets use their own namespace. */
  readonly namespace?: string
}

/** Created by `secretRef` and `secretText`. */
export class SecretValue {
  readonly [PARTS]: readonly (string | SecretKey)[]

  constructor(parts: readonly (string | SecretKey)[]) {
    this[PARTS] = parts
  }

  /** @throws a plain Error: no activity fills in the value here. */
  toJSON(): never {
    throw new Error(
      'a secretRef is used as text; Pawl fills in its value only in objects that a pass writes, and in arguments of activities',
    )
  }
}

/** The value of a Secret's key in the target's namespace, for objects that are written and inputs of own activities. */
export function secretRef(secret: string, key: string, namespace?: string): SecretValue {
  return new SecretValue([{ secret, key, ...(namespace !== undefined && { namespace }) }])
}

/** A text that contains Secret values: `` secretText`postgres://app:${secretRef('db', 'password')}@db/shop` ``. */
export function secretText(texts: TemplateStringsArray, ...values: readonly (string | SecretValue)[]): SecretValue {
  return new SecretValue(
    texts.flatMap((text, index) => {
      const value = values[index]
      if (value === undefined) return [text]
      return [text, ...(typeof value === 'string' ? [value] : value[PARTS])]
    }),
  )
}

/** A value in which texts may be Secret values. */
export type WithSecrets<Value> = Value extends readonly (infer Item)[]
  ? readonly WithSecrets<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: WithSecrets<Value[Key]> }
    : string extends Value
      ? Value | SecretValue
      : Value

/** The place of a gap, and the parts that fill it. */
export interface SecretGap {
  readonly at: readonly (string | number)[]
  readonly parts: readonly (string | SecretKey)[]
}

/** Replaces Secret values by empty texts and returns the gaps (S1). */
export function takeSecrets<Value>(value: Value): { readonly value: Value; readonly gaps: readonly SecretGap[] } {
  const gaps: SecretGap[] = []
  const taken = replaced(value, [], (at, parts) => {
    gaps.push({ at, parts })
    return ''
  })
  return { value: (gaps.length === 0 ? value : taken) as Value, gaps }
}

/** Replaces references by texts such as `<db/password>`, for tests. */
export function renderSecretRefs<Value>(value: Value): Value {
  const formatPart = (part: string | SecretKey) => (typeof part === 'string' ? part : `<${part.secret}/${part.key}>`)
  return replaced(value, [], (_, parts) => parts.map(formatPart).join('')) as Value
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
