// Versions of a kind. Objects are stored in one version; other versions are the same objects with another apiVersion, without conversion. So a served
// version must not have fields that the stored version lacks or types differently.

import type { Fields, JsonSchema } from './schema.ts'

/** A version other than the kind's own, which controllers use. */
export interface KindVersion {
  /** Such as `v1beta1`. */
  readonly version: string
  /** Default: the fields of the kind's own version. */
  readonly schema?: Fields
  /** Whether clients may use it. Default true. */
  readonly served?: boolean
  /** Whether objects are stored in it instead of the kind's own version. Default false. */
  readonly storage?: boolean
  /** The deprecation warning of `kubectl`. */
  readonly deprecated?: string
  readonly printerColumns?: readonly PrinterColumn[]
}

/** A version in a CRD. */
export interface DescribedVersion {
  readonly version: string
  readonly served: boolean
  readonly storage: boolean
  readonly schema: JsonSchema
}

// Source: Kubernetes' validation: a DNS label; kubectl sorts v1, v2beta1 by stability.
const VERSION = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

/** Each problem as a sentence. */
export function versionProblems(versions: readonly DescribedVersion[]): readonly string[] {
  const names = versions.map(({ version }) => version)
  const malformed = names.filter((name) => !VERSION.test(name))
  const repeated = [...new Set(names.filter((name, index) => names.indexOf(name) < index))]
  const stored = versions.filter(({ storage }) => storage)
  const [only] = stored
  return [
    ...malformed.map((name) => `has the version "${name}"; expected a name such as v1beta1`),
    ...repeated.map((name) => `has the version ${name} twice; expected each version once`),
    ...(stored.length > 1
      ? [`is stored in ${stored.map(({ version }) => version).join(' and ')}; expected exactly one stored version`]
      : []),
    ...(only === undefined ? [] : versions.flatMap((one) => (one.served ? lossProblems(one, only) : []))),
  ]
}

function lossProblems(served: DescribedVersion, stored: DescribedVersion): readonly string[] {
  if (served === stored) return []
  return differences(served.schema, stored.schema, '').map(
    ([at, found]) =>
      `serves ${at} in ${served.version} and ${found} in ${stored.version}, in which it is stored; expected the same`,
  )
}

/** Fields of the first version that the second lacks or types differently, with the second's type. */
function differences(first: JsonSchema, second: JsonSchema, at: string): readonly (readonly [string, string])[] {
  if (second['x-kubernetes-preserve-unknown-fields'] === true) return []
  if (first.type !== second.type) return [[`${at} as ${first.type ?? 'anything'}`, `as ${second.type ?? 'anything'}`]]
  const children = Object.entries(first.properties ?? {}).flatMap(([name, child]) => {
    const path = at === '' ? name : `${at}.${name}`
    const other = second.properties?.[name]
    return other === undefined ? [[path, 'has no such field'] as const] : differences(child, other, path)
  })
  const [items, values] = [
    pair(first.items, second.items),
    pair(first.additionalProperties, second.additionalProperties),
  ]
  return [
    ...children,
    ...(items === undefined ? [] : differences(...items, `${at}[]`)),
    ...(values === undefined ? [] : differences(...values, `${at}.*`)),
  ]
}

function pair(
  first: JsonSchema | undefined,
  second: JsonSchema | undefined,
): readonly [JsonSchema, JsonSchema] | undefined {
  return first === undefined || second === undefined ? undefined : [first, second]
}

/** A column of `kubectl get`. */
export interface PrinterColumn {
  readonly name: string
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date'
  /** As in CRDs: `.status.phase`. */
  readonly jsonPath: string
  /** Columns above 0 are shown by `kubectl get -o wide` only. */
  readonly priority?: number
}
