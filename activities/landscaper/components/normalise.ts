// Computes the normal form of a component descriptor, the text that a signature covers. Pure. Source: OCM v0.11.0, compdesc/normalizations and
// compdesc/versions (fields), signing/norm (encoding); jsonNormalisation/v3: the OCM specification, "Normalization of component descriptors".
//
//   N1. The form contains known fields only. A field that is missing in the form is not covered by the signature.
//   N2. The form does not contain the location of contents and of the component, and labels without `signing`.

import { SCHEMA_V2, SCHEMA_V3, type Component } from '../render/blueprint/component-descriptor.ts'
import { type Fields } from '../render/field-reader.ts'
import { writeJson, isFields, fieldsOf } from '../../../workflows/kit/index.ts'
import { BlueprintError } from '../render/render-errors.ts'

export interface DigestSpec {
  readonly hashAlgorithm: string
  readonly normalisationAlgorithm: string
  readonly value: string
}

/** Digests in the order of the descriptor; they replace the digests in the descriptor. */
export interface Digests {
  readonly resources: readonly (DigestSpec | undefined)[]
  readonly references: readonly (DigestSpec | undefined)[]
}

export const NORMALISATIONS = ['jsonNormalisation/v1', 'jsonNormalisation/v2', 'jsonNormalisation/v3'] as const
export type Normalisation = (typeof NORMALISATIONS)[number]

/**
 * One form, or two where releases of OCM differ: in older ones, `extraIdentity` contains the version of resources that differ only by version.
 *
 * @throws BlueprintError for labels that are nested too deeply.
 */
export function normalForms(component: Component, normalisation: Normalisation, digests: Digests): readonly string[] {
  const parts = partsOf(component, digests)
  const write = (one: Parts) => (normalisation === 'jsonNormalisation/v1' ? formV1(component, one) : formV2(one))
  const signedParts =
    normalisation === 'jsonNormalisation/v3' ? parts : { ...parts, resources: withVersions(parts.resources) }
  return signedParts.resources === parts.resources ? [write(parts)] : [write(parts), write(signedParts)]
}

/** A resource without content has no digest. */
export function isWithoutContent(resource: Fields): boolean {
  const type = isFields(resource['access']) ? resource['access']['type'] : undefined
  return type === 'none' || type === 'None'
}

interface Element {
  readonly element: Fields
  readonly labels: readonly Fields[]
}

interface Parts {
  readonly names: Fields
  readonly creationTime: string | undefined
  readonly labels: readonly Fields[]
  readonly provider: { readonly name: unknown; readonly labels: readonly Fields[] }
  readonly resources: readonly Element[]
  readonly sources: readonly Element[]
  readonly references: readonly Element[]
}

function partsOf({ document, schemaVersion, name, version }: Component, digests: Digests): Parts {
  const isV3 = schemaVersion === SCHEMA_V3
  const top = fieldsOf(document[isV3 ? 'metadata' : 'component'])
  const lists = isV3 ? fieldsOf(document['spec']) : top
  const provider = isV3 ? fieldsOf(top['provider']) : providerIn(top['provider'])
  return {
    names: { name, version },
    creationTime: timeOf(top['creationTime']),
    labels: labelsOf(top['labels']),
    provider: { name: textOf(provider['name']), labels: labelsOf(provider['labels']) },
    resources: listOf(lists['resources']).map((one, index) => resourceOf(one, version, digests.resources[index])),
    sources: listOf(lists['sources']).map((one) => elementOf(one, { type: textOf(one['type']) })),
    references: listOf(lists[isV3 ? 'references' : 'componentReferences']).map((one, index) =>
      elementOf(one, { componentName: textOf(one['componentName']), digest: digests.references[index] }),
    ),
  }
}

function resourceOf(one: Fields, version: string, digest: DigestSpec | undefined): Element {
  const relation = textOf(one['relation'])
  const own = textOf(one['version'])
  return elementOf(one, {
    version: own === '' && relation === 'local' ? version : own,
    type: textOf(one['type']),
    ...(relation !== '' && { relation }),
    digest: isWithoutContent(one) ? undefined : digest,
  })
}

function elementOf(one: Fields, more: Fields): Element {
  const extraIdentity = fieldsOf(one['extraIdentity'])
  const element = {
    name: textOf(one['name']),
    version: textOf(one['version']),
    ...(Object.keys(extraIdentity).length > 0 && { extraIdentity }),
    ...more,
  }
  return { element: withoutUndefined(element), labels: labelsOf(one['labels']) }
}

// Adds the version to all but the last of the resources with the same name and identity.
function withVersions(resources: readonly Element[]): readonly Element[] {
  const identities = resources.map(({ element }) => identityOf(element))
  const lastOf = new Map(identities.map((identity, index) => [identity, index]))
  if (lastOf.size === resources.length) return resources
  return resources.map(({ element, labels }, index) => {
    if (lastOf.get(identities[index] ?? '') === index) return { element, labels }
    const extraIdentity = { ...fieldsOf(element['extraIdentity']), version: element['version'] }
    return { element: { ...element, extraIdentity }, labels }
  })
}

function identityOf({ name, extraIdentity = {} }: Fields): string {
  return canonicalText([name, extraIdentity])
}

/** jsonNormalisation/v2 and v3: the same form for all schemas, encoded according to RFC 8785. */
function formV2({ names, creationTime, labels, provider, resources, sources, references }: Parts): string {
  return canonicalText({
    component: withoutUndefined({
      ...names,
      creationTime,
      labels: signed(labels),
      provider: withoutUndefined({ name: provider.name, labels: signed(provider.labels) }),
      resources: resources.map(withSigned),
      sources: sources.map(withSigned),
      componentReferences: references.map(withAll),
    }),
  })
}

/** jsonNormalisation/v1: the form of the descriptor's schema, with maps encoded as lists of entries. */
function formV1({ schemaVersion }: Component, parts: Parts): string {
  return entriesText(schemaVersion === SCHEMA_V3 ? formV1OfV3(parts) : formV1OfV2(parts))
}

function formV1OfV2({ names, creationTime, labels, provider, resources, references }: Parts): Fields {
  const identified = (one: Element) => ({ extraIdentity: null, ...withSigned(one) })
  return {
    meta: { schemaVersion: SCHEMA_V2 },
    component: withoutUndefined({
      ...names,
      creationTime,
      labels: signed(labels),
      provider:
        provider.labels.length === 0
          ? provider.name
          : withoutUndefined({ name: provider.name, labels: signed(provider.labels) }),
      resources: resources.map(identified),
      componentReferences: references.map(identified),
    }),
  }
}

function formV1OfV3({ names, creationTime, labels, provider, resources, sources, references }: Parts): Fields {
  const unlessEmpty = (list: readonly Element[]) => (list.length === 0 ? undefined : list.map(withSigned))
  return {
    apiVersion: SCHEMA_V3,
    kind: 'ComponentVersion',
    metadata: withoutUndefined({
      ...names,
      creationTime,
      labels: signed(labels),
      provider: withoutUndefined({
        name: provider.name,
        labels: provider.labels.length === 0 ? undefined : provider.labels,
      }),
    }),
    spec: withoutUndefined({
      resources: unlessEmpty(resources),
      sources: unlessEmpty(sources),
      references: unlessEmpty(references),
    }),
  }
}

const withSigned = ({ element, labels }: Element): Fields => withoutUndefined({ ...element, labels: signed(labels) })
const withAll = ({ element, labels }: Element): Fields =>
  withoutUndefined({ ...element, labels: labels.length === 0 ? undefined : labels })

function signed(labels: readonly Fields[]): readonly Fields[] | undefined {
  const covered = labels
    .filter(({ signing }) => signing === true)
    .map((label) => withoutUndefined({ ...label, merge: undefined }))
  return covered.length === 0 ? undefined : covered
}

function labelsOf(labels: unknown): readonly Fields[] {
  return listOf(labels).map(({ name, value = null, version, signing, merge }) => {
    return withoutUndefined({
      name: textOf(name),
      value,
      version: textOf(version) === '' ? undefined : version,
      signing: signing === true ? true : undefined,
      merge: isFields(merge)
        ? withoutUndefined({ algorithm: textOf(merge['algorithm']), config: merge['config'] })
        : undefined,
    })
  })
}

/** A provider with labels is JSON in a text. */
function providerIn(provider: unknown): Fields {
  const name = textOf(provider)
  if (!name.startsWith('{')) return { name }
  try {
    // eslint-disable-next-line no-restricted-properties -- the signed text has doubles here; readJson would keep more digits
    return fieldsOf(JSON.parse(name))
  } catch (error) {
    if (error instanceof SyntaxError) return { name }
    throw error
  }
}

/** In whole seconds of UTC. */
function timeOf(time: unknown): string | undefined {
  if (typeof time !== 'string') return undefined
  const ms = Date.parse(time)
  return Number.isNaN(ms) ? time : new Date(Math.round(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z')
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? (value as readonly unknown[]).map(fieldsOf) : []
}

function withoutUndefined(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

// The two JSON encodings of normal forms: equal values have equal texts. Pure.

/** Labels may be nested without limit, but the stack is finite. */
const MAX_LABEL_LEVELS = 500
/** Go escapes these characters in addition to those of the JSON standard. */
const ESCAPED = /[<>&\u2028\u2029]/g

/** Encodes according to RFC 8785. @throws BlueprintError for values that are nested too deeply. */
export function canonicalText(value: unknown, level = 0): string {
  if (Array.isArray(value)) return `[${value.map((one) => canonicalText(one, deeper(level))).join(',')}]`
  if (!isFields(value)) return writeJson(value ?? null)
  // An object with sorted keys would not work: JavaScript orders keys such as "10" numerically.
  const names = Object.keys(value).sort()
  return `{${names.map((name) => `${writeJson(name)}:${canonicalText(value[name], deeper(level))}`).join(',')}}`
}

/**
 * Encodes a map as a list of maps with one entry each. Source: OCM v0.11.0, signing/norm/entry, written by Go's encoding/json. @throws as
 * `canonicalText`.
 */
export function entriesText(value: unknown, level = 0): string {
  if (Array.isArray(value)) return `[${value.map((one) => entriesText(one, deeper(level))).join(',')}]`
  if (!isFields(value)) return goJson(value)
  const names = Object.keys(value).sort(byBytes)
  return `[${names.map((name) => `{${goJson(name)}:${entriesText(value[name], deeper(level))}}`).join(',')}]`
}

function deeper(level: number): number {
  if (level < MAX_LABEL_LEVELS) return level + 1
  throw new BlueprintError(
    'ERR_CONFIGURATION_PROBLEM',
    `labels of a component: nested deeper than ${MAX_LABEL_LEVELS} levels`,
  )
}

// In the order of UTF-8, which is the order of code points; UTF-16 differs only with surrogates.
function byBytes(left: string, right: string): number {
  if (/[\ud800-\udfff]/.test(left + right)) return Buffer.compare(Buffer.from(left), Buffer.from(right))
  return left < right ? -1 : 1
}

function goJson(value: unknown): string {
  const text = writeJson(value ?? null)
  if (text.search(ESCAPED) === -1) return text
  return text.replace(ESCAPED, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
