// The environment and command line of a container, with values of other objects and `$(VAR)` references. Source:
// Kubernetes, kubelet and third_party/forked/golang/expansion.

import type { AgentPod, ContainerSpec, EnvSource, EnvVar } from './agent-pod.ts'

/** The data of ConfigMaps and Secrets by `configMap/NAME` and `secret/NAME`; undefined: the object does not exist. */
export type KeySources = Readonly<Record<string, Readonly<Record<string, string>> | undefined>>

export interface PodAddresses {
  readonly podIP: string
  readonly hostIP: string
}

/** A value that the container needs is missing; it may appear later. */
export class MissingValueError extends Error {}

/** The names of all sources, as in `KeySources`. */
export function keySourcesOf({ env, envFrom }: ContainerSpec): readonly string[] {
  const ofVariables = env.flatMap(({ valueFrom: { configMapKeyRef, secretKeyRef } = {} }) => [
    ...(configMapKeyRef === undefined ? [] : [`configMap/${configMapKeyRef.name}`]),
    ...(secretKeyRef === undefined ? [] : [`secret/${secretKeyRef.name}`]),
  ])
  const ofAll = envFrom.flatMap(({ configMapRef, secretRef }) => [
    ...(configMapRef === undefined ? [] : [`configMap/${configMapRef.name}`]),
    ...(secretRef === undefined ? [] : [`secret/${secretRef.name}`]),
  ])
  return [...new Set([...ofVariables, ...ofAll])]
}

/** The pod and its addresses, for fields. */
export interface FieldSource extends PodAddresses {
  readonly pod: AgentPod
}

/**
 * The variables of the container. Later variables replace earlier ones; a value may refer to earlier variables.
 *
 * @throws MissingValueError if a source is missing and not optional.
 */
export function containerEnv(
  { env, envFrom }: ContainerSpec,
  fields: FieldSource,
  sources: KeySources,
): Readonly<Record<string, string>> {
  const values = Object.fromEntries(envFrom.flatMap((one) => variablesFrom(one, sources)))
  for (const { name, value = '', valueFrom } of env) {
    const found = valueFrom === undefined ? expand(value, values) : valueOf(name, valueFrom, fields, sources)
    if (found !== undefined) values[name] = found
  }
  return values
}

function variablesFrom(
  { prefix = '', configMapRef, secretRef }: EnvSource,
  sources: KeySources,
): readonly (readonly [string, string])[] {
  const { name = '', optional = false } = configMapRef ?? secretRef ?? {}
  const kind = configMapRef === undefined ? 'secret' : 'configMap'
  const data = sources[`${kind}/${name}`]
  if (data === undefined && !optional) throw new MissingValueError(`${kind} "${name}" of envFrom does not exist`)
  return Object.entries(data ?? {}).map(([key, value]) => [`${prefix}${key}`, value] as const)
}

function valueOf(
  name: string,
  { fieldRef, configMapKeyRef, secretKeyRef, ...others }: NonNullable<EnvVar['valueFrom']>,
  fields: FieldSource,
  sources: KeySources,
): string | undefined {
  if (fieldRef !== undefined) return fieldOf(fieldRef.fieldPath, fields, `env ${name}`)
  const [kind, ref] = configMapKeyRef === undefined ? ['secret', secretKeyRef] : ['configMap', configMapKeyRef]
  if (ref === undefined)
    throw new MissingValueError(`env ${name}: found ${Object.keys(others).join(', ')}, which is not supported`)
  const value = sources[`${kind}/${ref.name}`]?.[ref.key]
  if (value === undefined && ref.optional !== true)
    throw new MissingValueError(`env ${name}: key "${ref.key}" of ${kind} "${ref.name}" does not exist`)
  return value
}

/** The text of a pod's field, as the downward API defines them. @throws MissingValueError for another field. */
export function fieldOf(path: string, { pod, podIP, hostIP }: FieldSource, user: string): string {
  const { labels = {}, annotations = {} } = pod.object.metadata
  const [, map, key = ''] = /^metadata\.(labels|annotations)\['(.*)'\]$/.exec(path) ?? []
  if (map !== undefined) return (map === 'labels' ? labels : annotations)[key] ?? ''
  const fields: Readonly<Record<string, string>> = {
    'metadata.name': pod.name,
    'metadata.namespace': pod.namespace,
    'metadata.uid': pod.uid,
    'metadata.labels': lines(labels),
    'metadata.annotations': lines(annotations),
    'spec.nodeName': pod.nodeName,
    'spec.serviceAccountName': pod.serviceAccount,
    'status.hostIP': hostIP,
    'status.hostIPs': hostIP,
    'status.podIP': podIP,
    'status.podIPs': podIP,
  }
  const found = fields[path]
  if (found !== undefined) return found
  throw new MissingValueError(`${user}: found ${path}; expected one of ${Object.keys(fields).join(', ')}`)
}

/** As in a file of the downward API. */
function lines(map: Readonly<Record<string, string>>): string {
  return Object.keys(map)
    .sort()
    .map((key) => `${key}=${JSON.stringify(map[key])}`)
    .join('\n')
}

/** Replaces `$(VAR)` where the variable exists; `$$` is `$`. */
export function expand(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$(?:\$|\(([^)]*)\))/g, (all: string, name: string | undefined) => {
    if (name === undefined) return '$'
    return Object.hasOwn(values, name) ? (values[name] ?? '') : all
  })
}
