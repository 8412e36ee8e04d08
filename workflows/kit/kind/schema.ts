// Builds the fields of a kind. One value yields the TypeScript type (`ValueOf`) and the structural OpenAPI schema that
// Kubernetes accepts in a CRD. Not a validator: the API server validates. Only what Kubernetes accepts can be said here,
// and each field has a description, because `kubectl explain` is where users read it. What contradicts itself is found by `defineKind`
// (schema-problems.ts), which knows where a field stands.

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

/** A rule in CEL about a value, `self`; one that names `oldSelf` is about changes of it. */
export interface ValidationRule {
  readonly rule: string
  /** What users read when it does not hold. */
  readonly message: string
  /** The field that they are told is wrong, such as `.containers`; without it the one that has the rule. */
  readonly fieldPath?: `.${string}`
}

/** What can be said of every field beside its description. */
export interface FieldOptions<Value> {
  /** What the API server puts in where the field is absent; so it is there in every object, and never `required`. */
  readonly default?: Value
  readonly rules?: readonly ValidationRule[]
}

export interface TextOptions extends FieldOptions<string> {
  /** A regular expression of RE2, which has to match somewhere: `^` and `$` for the whole. */
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
}

export interface NumberOptions extends FieldOptions<number> {
  readonly minimum?: number
  readonly maximum?: number
}

/** Of a number the bounds hold, of a text the rest. */
export interface IntOrStringOptions extends FieldOptions<number | string> {
  readonly minimum?: number
  readonly maximum?: number
  readonly pattern?: string
  readonly maxLength?: number
}

export interface ListOptions<Value> extends FieldOptions<readonly Value[]> {
  readonly minItems?: number
  readonly maxItems?: number
}

export interface MapOptions<Value> extends FieldOptions<Readonly<Record<string, Value>>> {
  readonly maxProperties?: number
}

/** Any JSON value. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue }

/** An object inside an object, with its own apiVersion and kind. */
export interface EmbeddedObject {
  readonly apiVersion: string
  readonly kind: string
  readonly [key: string]: JsonValue
}

// Exists for the type checker only: it carries the value's type without a value.
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

/** A field with a default: there in every object, and absent where a user leaves it out. */
export interface DefaultedField<Value = unknown> extends Field<Value> {
  readonly isDefaulted: true
}

/** The field that a maker with these options makes. */
type Made<Value, Options> = Options extends { readonly default: unknown } ? DefaultedField<Value> : Field<Value>

export type Fields = Readonly<Record<string, Field>>

/** The TypeScript type of a field's value. */
export type ValueOf<F> = F extends Field<infer Value> ? Value : never

type RequiredKeys<F extends Fields> = {
  [Key in keyof F]: F[Key] extends RequiredField | DefaultedField ? Key : never
}[keyof F]

/** The TypeScript type of an object with these fields: required ones and those with a default present, the others absent or of their type. */
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

export function text<const O extends TextOptions = object>(description: string, options?: O): Made<string, O> {
  return field({ type: 'string' }, description, options)
}

/** Text out of a closed list that the API server enforces. Use it only where the wire format has the list. */
export function oneOf<const Value extends string, const O extends FieldOptions<NoInfer<Value>> = object>(
  description: string,
  values: readonly Value[],
  options?: O,
): Made<Value, O> {
  return field({ type: 'string', enum: values }, description, options)
}

/** A point in time, RFC 3339. */
export function timestamp<const O extends FieldOptions<string> = object>(
  description: string,
  options?: O,
): Made<string, O> {
  return field({ type: 'string', format: 'date-time' }, description, options)
}

/** Bytes, in JSON as base64. */
export function bytes(description: string): Field<string> {
  return field({ type: 'string', format: 'byte' }, description)
}

export function integer<const O extends NumberOptions = object>(description: string, options?: O): Made<number, O> {
  return field({ type: 'integer' }, description, options)
}

export function int64<const O extends NumberOptions = object>(description: string, options?: O): Made<number, O> {
  return field({ type: 'integer', format: 'int64' }, description, options)
}

/** A number that need not be whole. */
export function decimal<const O extends NumberOptions = object>(description: string, options?: O): Made<number, O> {
  return field({ type: 'number' }, description, options)
}

/** A whole number or a text, as Kubernetes has them for counts and ports: `3`, or `30%`. Rules have to ask which it is: `type(self) == int`. */
export function intOrString<const O extends IntOrStringOptions = object>(
  description: string,
  options?: O,
): Made<number | string, O> {
  return field({ 'x-kubernetes-int-or-string': true }, description, options)
}

export function flag<const O extends FieldOptions<boolean> = object>(
  description: string,
  options?: O,
): Made<boolean, O> {
  return field({ type: 'boolean' }, description, options)
}

export function list<Value, const O extends ListOptions<NoInfer<Value>> = object>(
  description: string,
  item: Field<Value>,
  options?: O,
): Made<readonly Value[], O> {
  return field({ type: 'array', items: item.schema }, description, options)
}

/** Any keys, values of one type. */
export function mapOf<Value, const O extends MapOptions<NoInfer<Value>> = object>(
  description: string,
  value: Field<Value>,
  options?: O,
): Made<Readonly<Record<string, Value>>, O> {
  return field({ type: 'object', additionalProperties: value.schema }, description, options)
}

/** An object with these fields; unknown ones are pruned by the API server. Its default may leave out what has one itself: often `{}`. */
export function record<F extends Fields, const O extends FieldOptions<Partial<ObjectValueOf<F>>> = object>(
  description: string,
  fields: F,
  options?: O,
): Made<ObjectValueOf<F>, O> {
  return field(objectSchema(fields), description, options)
}

/** Anything; nothing in it is pruned. */
export function anyJson(description: string): Field<JsonValue> {
  return field({ 'x-kubernetes-preserve-unknown-fields': true }, description)
}

/** Any object; nothing in it is pruned. Rules see whether it is there. */
export function anyMap(description: string): Field<Readonly<Record<string, JsonValue>>> {
  return field({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, description)
}

/** A whole object with apiVersion and kind; nothing in it is pruned. */
export function embedded(description: string): Field<EmbeddedObject> {
  const schema = { 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true } as const
  return field({ type: 'object', ...schema }, description)
}

/** The schema of an object with these fields. Fields keep their order; `required` is left out when empty, as CRDs want it. */
export function objectSchema(fields: Fields): JsonSchema {
  const entries = Object.entries(fields)
  const mandatory = entries.filter(([, { required }]) => required).map(([name]) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, { schema }]) => [name, schema])),
    ...(mandatory.length > 0 ? { required: mandatory } : {}),
  }
}

// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- each maker says which field it makes
function field<Made extends Field>(schema: JsonSchema, description: string, options: FieldOptions<unknown> = {}): Made {
  if (description.trim() === '')
    throw new Error('a field has no description; expected one sentence for kubectl explain')
  const { rules, ...limits } = options
  const isDefaulted = 'default' in options ? { isDefaulted: true } : {}
  const validations = rules === undefined ? {} : { 'x-kubernetes-validations': rules }
  // What the makers promise of values is known to the type checker alone.
  return {
    schema: { description, ...schema, ...limits, ...validations },
    required: false,
    ...isDefaulted,
  } as Field as Made
}
