// What a module of generated types consists of, before it is text.

/** A type as it stands behind a field. */
export type TypeExpression =
  | { readonly is: 'name'; readonly name: string }
  | { readonly is: 'union'; readonly parts: readonly TypeExpression[] }
  | { readonly is: 'list'; readonly of: TypeExpression }
  | { readonly is: 'map'; readonly of: TypeExpression }

export interface Member {
  readonly name: string
  readonly isOptional: boolean
  readonly type: TypeExpression
  readonly docs: Docs
}

export interface Docs {
  readonly description?: string | undefined
  /** As JSON. */
  readonly defaultValue?: string | undefined
  readonly deprecated?: string | undefined
}

export interface InterfaceDeclaration {
  readonly is: 'interface'
  readonly name: string
  readonly docs: Docs
  readonly members: readonly Member[]
  /** Whether fields that the schema does not name are kept. */
  readonly isOpen: boolean
}

/** A closed list of values. */
export interface ValuesDeclaration {
  readonly is: 'values'
  readonly name: string
  readonly docs: Docs
  readonly values: readonly (string | number | boolean)[]
}

export type Declaration = InterfaceDeclaration | ValuesDeclaration

export const UNKNOWN = named('unknown')
export const NUMBER_OR_TEXT: TypeExpression = { is: 'union', parts: [named('number'), named('string')] }

export function named(name: string): TypeExpression {
  return { is: 'name', name }
}

/** The type, or null. */
export function nullable(type: TypeExpression): TypeExpression {
  // `unknown | null` says no more than `unknown`.
  if (type === UNKNOWN) return type
  return { is: 'union', parts: [...(type.is === 'union' ? type.parts : [type]), named('null')] }
}
