// A component descriptor in the schema that a blueprint wants, whichever it was written in. What neither schema knows stays where both have it.
// Source: spec/landscaper.md 3.2, 3.6.

import { SCHEMA_V2, SCHEMA_V3, type Component, type SchemaVersion } from './component-descriptor.ts'
import { isFields, type Fields } from './field-reader.ts'

/** The descriptor in the schema that a template wants. */
export function documentIn({ document, schemaVersion }: Component, wanted: SchemaVersion): Fields {
  if (schemaVersion === wanted) return document
  return wanted === SCHEMA_V2 ? toV2(document) : toV3(document)
}

function toV2({ metadata, repositoryContexts, spec, signatures, nestedDigests }: Fields): Fields {
  const { provider, ...names } = isFields(metadata) ? metadata : {}
  const { resources, sources, references } = isFields(spec) ? spec : {}
  const { name: providerName, ...more } = isFields(provider) ? provider : { name: provider }
  return {
    meta: { schemaVersion: SCHEMA_V2 },
    component: {
      ...names,
      // As the OCM library writes it: a provider with labels is JSON in a text.
      provider: Object.keys(more).length === 0 ? (providerName ?? '') : JSON.stringify(provider),
      repositoryContexts: repositoryContexts ?? [],
      ...{ resources: resources ?? [], sources: sources ?? [], componentReferences: references ?? [] },
    },
    ...given({ signatures, nestedDigests }),
  }
}

function toV3({ component, signatures, nestedDigests }: Fields): Fields {
  const { provider, repositoryContexts, resources, sources, componentReferences, ...names } = isFields(component)
    ? component
    : {}
  return {
    apiVersion: SCHEMA_V3,
    kind: 'ComponentVersion',
    metadata: { ...names, provider: providerOf(provider) },
    repositoryContexts: repositoryContexts ?? [],
    spec: { resources: resources ?? [], sources: sources ?? [], references: componentReferences ?? [] },
    ...given({ signatures, nestedDigests }),
  }
}

function providerOf(provider: unknown): Fields {
  if (isFields(provider)) return provider
  const name = typeof provider === 'string' ? provider : ''
  if (!name.startsWith('{')) return { name }
  try {
    const parsed: unknown = JSON.parse(name)
    return isFields(parsed) ? parsed : { name }
  } catch (error) {
    if (error instanceof SyntaxError) return { name }
    throw error
  }
}

function given(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
