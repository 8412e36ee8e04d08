// The versions of a kind. Objects are stored in one of them, and what is served in another is the same object with another apiVersion: there is
// no conversion. So a version that is served may have no field that the stored one has not, or has differently.

import type { PrinterColumn } from './printer-column.ts'
import type { Fields, JsonSchema } from './schema.ts'

/** A version beside the kind's own, which controllers use. */
export interface KindVersion {
  /** Such as `v1beta1`. */
  readonly version: string
  /** Default: the fields of the kind's own version. */
  readonly schema?: Fields
  /** Whether clients may use it. Default true. */
  readonly served?: boolean
  /** Whether objects are stored in it, in place of the kind's own. Default false. */
  readonly storage?: boolean
  /** What `kubectl` warns whoever uses it with. */
  readonly deprecated?: string
  readonly printerColumns?: readonly PrinterColumn[]
}

/** A version as a CRD has it. */
export interface DescribedVersion {
  readonly version: string
  readonly served: boolean
  readonly storage: boolean
  readonly schema: JsonSchema
}

// Source: Kubernetes' validation: a DNS label; v1, v2beta1 are what sorts by age.
const VERSION = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

/** Each mistake as a sentence. */
export function versionProblems(versions: readonly DescribedVersion[]): readonly string[] {
  const names = versions.map(({ version }) => version)
  const malformed = names.filter((name) => !VERSION.test(name))
  const repeated = [...new Set(names.filter((name, index) => names.indexOf(name) < index))]
  const stored = versions.filter(({ storage }) => storage)
  const [only] = stored
  return [
    ...malformed.map((name) => `has the version "${name}"; expected a name such as v1beta1`),
    ...repeated.map((name) => `has the version ${name} twice; expected each once`),
    ...(stored.length > 1
      ? [`is stored in ${stored.map(({ version }) => version).join(' and ')}; expected one version`]
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

/** Fields of the first that the second has not, or of another type: each with what the second has. */
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
