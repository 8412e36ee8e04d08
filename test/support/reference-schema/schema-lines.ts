// The fields of a CustomResourceDefinition as lines that can be compared: one per field, with everything that its schema says except descriptions.

export interface Definition {
  readonly spec: {
    readonly names: { readonly kind: string }
    readonly scope: string
    readonly versions: readonly DefinedVersion[]
  }
}

interface DefinedVersion {
  readonly name: string
  readonly schema: { readonly openAPIV3Schema: Schema }
  readonly subresources?: { readonly status?: object }
}

interface Schema {
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema
  readonly required?: readonly string[]
}

/** By path, such as `Installation.spec.imports.data[].name`: the keywords of the field's schema as JSON with sorted keys. */
export function schemaLines({ spec }: Definition): ReadonlyMap<string, string> {
  const lines = new Map<string, string>()
  for (const { name, schema, subresources } of spec.versions) {
    const { names, scope } = spec
    lines.set(`${names.kind} (definition)`, sorted({ names, scope, version: name, status: subresources?.status }))
    addLines(lines, names.kind, schema.openAPIV3Schema, false)
  }
  return lines
}

function addLines(lines: Map<string, string>, at: string, schema: Schema, isRequired: boolean): void {
  const { properties = {}, items, additionalProperties, required = [], ...keywords } = schema
  lines.set(at, sorted({ ...keywords, description: undefined, ...(isRequired && { required: true }) }))
  for (const [name, field] of Object.entries(properties))
    addLines(lines, `${at}.${name}`, field, required.includes(name))
  if (items !== undefined) addLines(lines, `${at}[]`, items, false)
  if (additionalProperties !== undefined) addLines(lines, `${at}{}`, additionalProperties, false)
}

function sorted(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([left], [right]) => (left < right ? -1 : 1)))
      : part,
  )
}
