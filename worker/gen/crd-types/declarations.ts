// The declarations of a module of generated types, and the names of its types. print-types.ts formats them.

/** The type of a field. */
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
  /** True: the API server keeps fields that the schema does not declare. */
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
  // `unknown` includes null.
  if (type === UNKNOWN) return type
  return { is: 'union', parts: [...(type.is === 'union' ? type.parts : [type]), named('null')] }
}

export interface TypeNames {
  /** Reserves an unused name: the wanted one, or the wanted one with the smallest free number. */
  take(wanted: string): string
}

/** @param reserved names that no type may get. */
export function typeNames(reserved: readonly string[]): TypeNames {
  const taken = new Set(reserved)
  return {
    take(wanted) {
      let name = wanted
      for (let count = 2; taken.has(name); count++) name = `${wanted}${count}`
      taken.add(name)
      return name
    },
  }
}

/** A field or kind in the name of a type: `node-selector` is `NodeSelector`. ASCII only. */
export function pascalCase(text: string): string {
  return text
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
}
