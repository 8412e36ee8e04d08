// The fields of Kubernetes' own kinds, as the official client describes them. The client is large, so it is loaded only for documents
// whose controllers are for such kinds.

import type { FieldSort, KindFacts } from '../../../workflows/kit/dsl/index.ts'
import { kubernetesFacts } from './kubernetes-kinds.ts'

interface Model {
  getAttributeTypeMap(): readonly { readonly baseName: string; readonly type: string }[]
}

type Fields = Pick<KindFacts, 'fieldAt' | 'namesBelow'>

/** What is known of the fields of a kind; undefined when it is none of Kubernetes, or of a version that the client does not have. */
export async function kubernetesFields(groupVersion: string, kind: string): Promise<Fields | undefined> {
  if (kubernetesFacts(groupVersion, kind) === undefined) return undefined
  const client = (await import('@kubernetes/client-node')) as unknown as Readonly<Record<string, unknown>>
  const modelOf = (type: string): Model | undefined => {
    const found = Object.hasOwn(client, type) ? client[type] : undefined
    return isModel(found) ? found : undefined
  }
  const root = modelName(groupVersion, kind)
  if (modelOf(root) === undefined) return undefined
  const typeAt = (path: readonly string[]) => below(root, path, modelOf)
  return {
    fieldAt: (path) => sortOf(typeAt(path)),
    namesBelow: (path) =>
      (modelOf(typeAt(path) ?? '')?.getAttributeTypeMap() ?? [])
        .map(({ baseName }) => baseName)
        .filter((name) => name !== 'metadata'),
  }
}

// The client's name of the type of a kind. Two groups have a kind called Event.
function modelName(groupVersion: string, kind: string): string {
  const [version = '', group] = groupVersion.split('/').reverse()
  const prefix = `${version.charAt(0).toUpperCase()}${version.slice(1)}`
  if (kind !== 'Event') return prefix + kind
  return `${group === undefined ? 'Core' : 'Events'}${prefix}${kind}`
}

/** The client's name of the type at a path below another type. */
function below(
  type: string,
  [name, ...rest]: readonly string[],
  modelOf: (type: string) => Model | undefined,
): string | undefined {
  if (name === undefined || type === 'any') return type
  const [, values] = /^\{ \[key: string\]: (.+); \}$/.exec(type) ?? []
  const attributes = modelOf(type)?.getAttributeTypeMap() ?? []
  const next = values ?? attributes.find(({ baseName }) => baseName === name)?.type
  return next === undefined ? undefined : below(next, rest, modelOf)
}

function sortOf(type: string | undefined): FieldSort | undefined {
  if (type === undefined) return undefined
  if (type === 'any' || type === 'IntOrString') return 'anything'
  // Points in time are texts to the API server.
  return type === 'string' || type === 'Date' ? 'text' : 'other'
}

function isModel(value: unknown): value is Model {
  return typeof value === 'function' && 'getAttributeTypeMap' in value
}
