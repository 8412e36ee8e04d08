// Builds the fields of a kind. One value yields the TypeScript type (`ValueOf`) and the structural OpenAPI schema that
// Kubernetes accepts in a CRD. Not a validator: the API server validates. Each field has a description, which users read
// with `kubectl explain`. `defineKind` reports contradictory options with the path of the field (schema-problems.ts).

/** The part of OpenAPI v3 that a structural schema may use. */
export interface JsonSchema {
  readonly description?: string
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object'
  readonly format?: 'date-time' | 'int64' | 'byte'
  readonly enum?: readonly string[]
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly additionalProperties?: JsonSchema
  readonly required?: readonly string[]
  readonly default?: JsonValue
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minItems?: number
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[]
  readonly 'x-kubernetes-preserve-unknown-fields'?: true
  readonly 'x-kubernetes-embedded-resource'?: true
  readonly 'x-kubernetes-int-or-string'?: true
}

/** A CEL rule about the value `self`. A rule that uses `oldSelf` is a transition rule: it applies to updates only. */
export interface ValidationRule {
  readonly rule: string
  /** The message to the user when the rule fails. */
  readonly message: string
  /** The field of the error, such as `.containers`; default: the field that has the rule. */
  readonly fieldPath?: `.${string}`
}

/** Options of every field. */
export interface FieldOptions<Value> {
  /** The API server's default for an absent field; such a field is in every object and is never `required`. */
  readonly default?: Value
  readonly rules?: readonly ValidationRule[]
}

/** Options of `text`. */
export interface TextOptions extends FieldOptions<string> {
  /** An RE2 pattern that must match somewhere: use `^` and `$` for the whole text. */
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
}

/** Options of numbers; both limits are inclusive. */
export interface NumberOptions extends FieldOptions<number> {
  readonly minimum?: number
  readonly maximum?: number
}

/** The limits apply to numbers, all other options to texts. */
export interface IntOrStringOptions extends FieldOptions<number | string> {
  readonly minimum?: number
  readonly maximum?: number
  readonly pattern?: string
  readonly maxLength?: number
}

/** Options of `list`. Rules inside of a list need `maxItems`. */
export interface ListOptions<Value> extends FieldOptions<readonly Value[]> {
  readonly minItems?: number
  readonly maxItems?: number
}

/** Options of `mapOf`. */
export interface MapOptions<Value> extends FieldOptions<Readonly<Record<string, Value>>> {
  readonly maxProperties?: number
}

/** Any JSON value. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue }

/** A nested object with its own apiVersion and kind. */
export interface EmbeddedObject {
  readonly apiVersion: string
  readonly kind: string
  readonly [key: string]: JsonValue
}

// Only for the type checker: carries the value's type.
declare const valueType: unique symbol

/** One field; optional unless wrapped by `required`. */
export interface Field<Value = unknown> {
  readonly schema: JsonSchema
  readonly required: boolean
  readonly [valueType]?: Value
}

export interface RequiredField<Value = unknown> extends Field<Value> {
  readonly required: true
}

/** A field with a default: present in every object, optional for users. */
export interface DefaultedField<Value = unknown> extends Field<Value> {
  readonly isDefaulted: true
}

/** The type of a field with these options. */
type FieldWith<Value, Options> = Options extends { readonly default: unknown } ? DefaultedField<Value> : Field<Value>

/** Fields by name. */
export type Fields = Readonly<Record<string, Field>>

/** The TypeScript type of a field's value. */
export type ValueOf<F> = F extends Field<infer Value> ? Value : never

type RequiredKeys<F extends Fields> = {
  [Key in keyof F]: F[Key] extends RequiredField | DefaultedField ? Key : never
}[keyof F]

/** The TypeScript type of an object: required fields and fields with a default are present, others optional. */
export type ObjectValueOf<F extends Fields> = Flat<
  { readonly [Key in RequiredKeys<F>]: ValueOf<F[Key]> } & {
    readonly [Key in Exclude<keyof F, RequiredKeys<F>>]?: ValueOf<F[Key]>
  }
>

type Flat<Type> = { [Key in keyof Type]: Type[Key] }

/** Makes a field mandatory. */
export function required<Value>(field: Field<Value>): RequiredField<Value> {
  return { ...field, required: true }
}

/** A text. */
export function text<const O extends TextOptions = object>(description: string, options?: O): FieldWith<string, O> {
  return field({ type: 'string' }, description, options)
}

/** A text from a closed list, which the API server enforces. Use it only where the wire format has the list. */
export function oneOf<const Value extends string, const O extends FieldOptions<NoInfer<Value>> = object>(
  description: string,
  values: readonly Value[],
  options?: O,
): FieldWith<Value, O> {
  return field({ type: 'string', enum: values }, description, options)
}

/** A timestamp, RFC 3339. */
export function timestamp<const O extends FieldOptions<string> = object>(
  description: string,
  options?: O,
): FieldWith<string, O> {
  return field({ type: 'string', format: 'date-time' }, description, options)
}

/** Bytes, as base64 in JSON. */
export function bytes(description: string): Field<string> {
  return field({ type: 'string', format: 'byte' }, description)
}

/** A whole number. */
export function integer<const O extends NumberOptions = object>(
  description: string,
  options?: O,
): FieldWith<number, O> {
  return field({ type: 'integer' }, description, options)
}

/** A whole number of 64 bits. At run time it is a `bigint` where a `number` would lose digits. */
export function int64<const O extends NumberOptions = object>(description: string, options?: O): FieldWith<number, O> {
  return field({ type: 'integer', format: 'int64' }, description, options)
}

/** A number with fractions. */
export function decimal<const O extends NumberOptions = object>(
  description: string,
  options?: O,
): FieldWith<number, O> {
  return field({ type: 'number' }, description, options)
}

/** A whole number or a text, like Kubernetes' counts and ports: `3`, or `30%`. CEL rules must check the type: `type(self) == int`. */
export function intOrString<const O extends IntOrStringOptions = object>(
  description: string,
  options?: O,
): FieldWith<number | string, O> {
  return field({ 'x-kubernetes-int-or-string': true }, description, options)
}

/** A boolean. */
export function flag<const O extends FieldOptions<boolean> = object>(
  description: string,
  options?: O,
): FieldWith<boolean, O> {
  return field({ type: 'boolean' }, description, options)
}

/** A list of values of one type. */
export function list<Value, const O extends ListOptions<NoInfer<Value>> = object>(
  description: string,
  item: Field<Value>,
  options?: O,
): FieldWith<readonly Value[], O> {
  return field({ type: 'array', items: item.schema }, description, options)
}

/** A map with values of one type. */
export function mapOf<Value, const O extends MapOptions<NoInfer<Value>> = object>(
  description: string,
  value: Field<Value>,
  options?: O,
): FieldWith<Readonly<Record<string, Value>>, O> {
  return field({ type: 'object', additionalProperties: value.schema }, description, options)
}

/** An object with these fields; the API server prunes unknown ones. Its default may omit fields with defaults, and is often `{}`. */
export function record<F extends Fields, const O extends FieldOptions<Partial<ObjectValueOf<F>>> = object>(
  description: string,
  fields: F,
  options?: O,
): FieldWith<ObjectValueOf<F>, O> {
  return field(objectSchema(fields), description, options)
}

/** Any value; the API server prunes nothing in it. */
export function anyJson(description: string): Field<JsonValue> {
  return field({ 'x-kubernetes-preserve-unknown-fields': true }, description)
}

/** Any object; the API server prunes nothing in it. CEL rules see only whether it is present. */
export function anyMap(description: string): Field<Readonly<Record<string, JsonValue>>> {
  return field({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, description)
}

/** A complete object with apiVersion and kind; the API server prunes nothing in it. */
export function embedded(description: string): Field<EmbeddedObject> {
  const schema = { 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true } as const
  return field({ type: 'object', ...schema }, description)
}

/** The schema of an object. Fields keep their order; an empty `required` is omitted, as CRDs demand. */
export function objectSchema(fields: Fields): JsonSchema {
  const entries = Object.entries(fields)
  const mandatory = entries.filter(([, { required }]) => required).map(([name]) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, { schema }]) => [name, schema])),
    ...(mandatory.length > 0 ? { required: mandatory } : {}),
  }
}

// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the return type of the caller determines the type of the field
function field<F extends Field>(schema: JsonSchema, description: string, options: FieldOptions<unknown> = {}): F {
  if (description.trim() === '') throw new Error('a field has no description; add a sentence for kubectl explain')
  const { rules, ...limits } = options
  const defaulted = 'default' in options ? { isDefaulted: true } : {}
  const validations = rules === undefined ? {} : { 'x-kubernetes-validations': rules }
  // The value type of a field exists only for the type checker, hence the assertion.
  return {
    schema: { description, ...schema, ...limits, ...validations },
    required: false,
    ...defaulted,
  } as Field as F
}
