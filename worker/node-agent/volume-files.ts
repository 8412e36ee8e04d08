// The files of a volume from keys of ConfigMaps and Secrets, tokens, and fields of the pod.

import type { KubeObject } from '../../activities/kube/client.ts'
import type { AgentPod, Projection } from './agent-pod.ts'
import { fieldOf, MissingValueError, type PodAddresses } from './container-env.ts'

/** Contents by relative path. */
export type Files = Readonly<Record<string, Buffer>>

export interface FileSources {
  /** The ConfigMap or Secret; undefined: it does not exist. */
  readonly object: (kind: 'configMap' | 'secret', name: string) => KubeObject | undefined
  /** The token that the pod has for this file. */
  readonly token: (source: NonNullable<Projection['serviceAccountToken']>) => string
  readonly addresses: PodAddresses
}

/** The data of a ConfigMap or a Secret, by key. */
export function dataOf(object: KubeObject): Files {
  const { data = {}, binaryData = {} } = object as {
    readonly data?: Readonly<Record<string, string>>
    readonly binaryData?: Readonly<Record<string, string>>
  }
  const isSecret = object.kind === 'Secret'
  const texts = Object.entries(data).map(([key, text]) => [key, Buffer.from(text, isSecret ? 'base64' : 'utf8')])
  const binaries = Object.entries(binaryData).map(([key, text]) => [key, Buffer.from(text, 'base64')])
  return Object.fromEntries([...texts, ...binaries]) as Files
}

/** @throws MissingValueError if an object or a key does not exist and is not optional. */
export function volumeFiles(
  volume: string,
  projections: readonly Projection[],
  pod: AgentPod,
  sources: FileSources,
): Files {
  return Object.assign({}, ...projections.map((one) => filesOf(volume, one, pod, sources))) as Files
}

function filesOf(volume: string, source: Projection, pod: AgentPod, sources: FileSources): Files {
  const { configMap, secret, downwardAPI, serviceAccountToken: token } = source
  if (configMap !== undefined) return keyFiles(volume, 'configMap', configMap, sources)
  if (secret !== undefined) return keyFiles(volume, 'secret', secret, sources)
  if (token !== undefined) return { [token.path]: Buffer.from(sources.token(token)) }
  const items = (downwardAPI?.items ?? []).map(({ path, fieldRef }) => {
    if (fieldRef === undefined)
      throw new MissingValueError(`volume "${volume}": resourceFieldRef of "${path}" is not supported`)
    return [path, Buffer.from(fieldOf(fieldRef.fieldPath, { pod, ...sources.addresses }, `volume "${volume}"`))]
  })
  return Object.fromEntries(items) as Files
}

function keyFiles(
  volume: string,
  kind: 'configMap' | 'secret',
  { name, items, optional = false }: NonNullable<Projection['configMap']>,
  sources: FileSources,
): Files {
  const object = sources.object(kind, name)
  if (object === undefined) {
    if (optional) return {}
    throw new MissingValueError(`volume "${volume}": ${kind} "${name}" does not exist`)
  }
  const data = dataOf(object)
  if (items === undefined) return data
  const found = items.flatMap(({ key, path }) => {
    const content = data[key]
    if (content !== undefined) return [[path, content]]
    if (optional) return []
    throw new MissingValueError(`volume "${volume}": ${kind} "${name}" has no key "${key}"`)
  })
  return Object.fromEntries(found) as Files
}

/** The ConfigMaps and Secrets of the sources. */
export function objectsOf(
  projections: readonly Projection[],
): readonly { readonly kind: 'configMap' | 'secret'; readonly name: string }[] {
  return projections.flatMap(({ configMap, secret }) => [
    ...(configMap === undefined ? [] : [{ kind: 'configMap' as const, name: configMap.name }]),
    ...(secret === undefined ? [] : [{ kind: 'secret' as const, name: secret.name }]),
  ])
}
