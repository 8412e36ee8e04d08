// Lists what a new version of a CustomResourceDefinition no longer accepts: fields and API versions. Pure.

import { isFields } from '../../../workflows/kit/index.ts'

type Fields = Readonly<Record<string, unknown>>

/**
 * The API versions and fields of `live` that `next` lacks, such as `v1alpha1` or `v1alpha1 spec.imports.data[].name`.
 * An API server drops the values of a field that it does not know.
 *
 * @param live and @param next manifests of a CustomResourceDefinition.
 */
export function fieldsThatDisappear(live: Fields, next: Fields): readonly string[] {
  const later = schemasOf(next)
  return [...schemasOf(live)].flatMap(([version, schema]) => {
    const replacement = later.get(version)
    if (replacement === undefined) return [version]
    return missingFields(schema, replacement, '').map((path) => `${version} ${path}`)
  })
}

function schemasOf({ spec }: Fields): ReadonlyMap<string, Fields> {
  const versions = isFields(spec) && Array.isArray(spec['versions']) ? spec['versions'].filter(isFields) : []
  return new Map(
    versions.map(({ name, schema }) => {
      const root = isFields(schema) ? schema['openAPIV3Schema'] : undefined
      return [String(name), isFields(root) ? root : {}]
    }),
  )
}

function missingFields(live: Fields, next: Fields, path: string): readonly string[] {
  if (next['x-kubernetes-preserve-unknown-fields'] === true) return []
  const [known, remaining] = [fieldsIn(live, 'properties'), fieldsIn(next, 'properties')]
  const ofObject = Object.entries(known).flatMap(([name, schema]) => {
    const at = path === '' ? name : `${path}.${name}`
    // A map accepts every key.
    const replacement = remaining[name] ?? next['additionalProperties']
    return isFields(replacement) ? missingFields(isFields(schema) ? schema : {}, replacement, at) : [at]
  })
  const ofElements = (['items', 'additionalProperties'] as const).flatMap((key) => {
    const elements = live[key]
    return isFields(elements)
      ? missingFields(elements, fieldsIn(next, key), `${path}${key === 'items' ? '[]' : '.*'}`)
      : []
  })
  return [...ofObject, ...ofElements]
}

function fieldsIn(schema: Fields, key: string): Fields {
  const found = schema[key]
  return isFields(found) ? found : {}
}
