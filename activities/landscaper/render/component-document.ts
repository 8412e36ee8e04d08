// A component descriptor in the schema that a blueprint wants, whichever it was written in. What neither schema knows stays where both have it.
// Source: spec/landscaper.md 3.2, 3.6.

import { writeJson } from '../../../workflows/kit/kind/exact-json.ts'
import {
  INLINE_DESCRIPTOR_LABEL,
  SCHEMA_V2,
  SCHEMA_V3,
  type Component,
  type ComponentReference,
  type SchemaVersion,
} from './component-descriptor.ts'
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
      provider: Object.keys(more).length === 0 ? (providerName ?? '') : writeJson(provider),
      repositoryContexts: repositoryContexts ?? [],
      resources: resources ?? [],
      sources: sources ?? [],
      componentReferences: references ?? [],
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

type Names = Pick<ComponentReference, 'componentName' | 'version'>

/** The component as if it referred to these, one for each of its references; the same one where it does. */
export function referringTo(component: Component, wanted: readonly Names[]): Component {
  const changed = component.references.map((reference, index) => namesUnlike(reference, wanted[index] ?? reference))
  if (changed.every((names) => names === undefined)) return component
  const references = component.references.map((reference, index) =>
    changed[index] === undefined ? reference : { ...reference, ...changed[index], inline: undefined },
  )
  const rewrite = (list: unknown) =>
    Array.isArray(list)
      ? list.map((one: unknown, index) => (changed[index] === undefined ? one : renamed(one, changed[index])))
      : list
  return { ...component, references, document: withReferences(component, rewrite) }
}

function namesUnlike(reference: Names, { componentName, version }: Names): Names | undefined {
  return reference.componentName === componentName && reference.version === version
    ? undefined
    : { componentName, version }
}

function withReferences({ document, schemaVersion }: Component, rewrite: (list: unknown) => unknown): Fields {
  const [part, list] = schemaVersion === SCHEMA_V3 ? ['spec', 'references'] : ['component', 'componentReferences']
  const fields = document[part]
  return isFields(fields) ? { ...document, [part]: { ...fields, [list]: rewrite(fields[list]) } } : document
}

// Digest and descriptor are those of the component that it referred to before.
function renamed(entry: unknown, names: Names): unknown {
  if (!isFields(entry)) return entry
  const { labels } = entry
  const others = Array.isArray(labels)
    ? labels.filter((one: unknown) => !(isFields(one) && one['name'] === INLINE_DESCRIPTOR_LABEL))
    : labels
  return given({ ...entry, ...names, digest: undefined, labels: others })
}
