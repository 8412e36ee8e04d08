// Builds the fields of a kind. One value yields the TypeScript type (`ValueOf`) and the structural OpenAPI schema that
// Kubernetes accepts in a CRD. Not a validator: the API server validates. Only what Kubernetes accepts can be said here,
// and each field has a description, because `kubectl explain` is where users read it.

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
  readonly 'x-kubernetes-preserve-unknown-fields'?: true
  readonly 'x-kubernetes-embedded-resource'?: true
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

export type Fields = Readonly<Record<string, Field>>

/** The TypeScript type of a field's value. */
export type ValueOf<F> = F extends Field<infer Value> ? Value : never

type RequiredKeys<F extends Fields> = { [Key in keyof F]: F[Key] extends RequiredField ? Key : never }[keyof F]

/** The TypeScript type of an object with these fields: required ones present, the others absent or of their type. */
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

export function text(description: string): Field<string> {
  return field({ type: 'string' }, description)
}

/** Text out of a closed list that the API server enforces. Use it only where the wire format has the list. */
export function oneOf<const Value extends string>(description: string, values: readonly Value[]): Field<Value> {
  return field({ type: 'string', enum: values }, description)
}

/** A point in time, RFC 3339. */
export function timestamp(description: string): Field<string> {
  return field({ type: 'string', format: 'date-time' }, description)
}

/** Bytes, in JSON as base64. */
export function bytes(description: string): Field<string> {
  return field({ type: 'string', format: 'byte' }, description)
}

export function integer(description: string): Field<number> {
  return field({ type: 'integer' }, description)
}

export function int64(description: string): Field<number> {
  return field({ type: 'integer', format: 'int64' }, description)
}

/** A number that need not be whole. */
export function decimal(description: string): Field<number> {
  return field({ type: 'number' }, description)
}

export function flag(description: string): Field<boolean> {
  return field({ type: 'boolean' }, description)
}

export function list<Value>(description: string, item: Field<Value>): Field<readonly Value[]> {
  return field({ type: 'array', items: item.schema }, description)
}

/** Any keys, values of one type. */
export function mapOf<Value>(description: string, value: Field<Value>): Field<Readonly<Record<string, Value>>> {
  return field({ type: 'object', additionalProperties: value.schema }, description)
}

/** An object with these fields; unknown ones are pruned by the API server. */
export function record<F extends Fields>(description: string, fields: F): Field<ObjectValueOf<F>> {
  return field(objectSchema(fields), description)
}

/** Anything; nothing in it is pruned. */
export function anyJson(description: string): Field<JsonValue> {
  return field({ 'x-kubernetes-preserve-unknown-fields': true }, description)
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

function field<Value>(schema: JsonSchema, description: string): Field<Value> {
  if (description.trim() === '')
    throw new Error('a field has no description; expected one sentence for kubectl explain')
  return { schema: { description, ...schema }, required: false }
}
