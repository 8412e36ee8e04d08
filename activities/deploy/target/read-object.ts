// One object of a target cluster, by what a person would call it.

import { type KubeObject, resourcePath } from '../../kube/client.ts'
import { isNotFound, KubeError } from '../../kube/errors.ts'
import { isMap } from '../readiness/field-reader.ts'
import type { TargetCluster } from './target-cluster.ts'

export interface ObjectReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  /** Ignored for kinds without namespaces. */
  readonly namespace?: string | undefined
}

/** @returns undefined when the object, or its kind, is not there. @throws KubeError, DeployError */
export async function readObject(
  target: TargetCluster,
  reference: ObjectReference,
  signal?: AbortSignal,
): Promise<KubeObject | undefined> {
  const { apiVersion, kind, name, namespace } = reference
  const served = await target.servedKind(apiVersion, kind)
  if (served === undefined || !isName(name)) return undefined
  if (served.namespaced && (namespace === undefined || !isName(namespace))) return undefined
  try {
    const path = resourcePath(served, served.namespaced ? namespace : undefined, name)
    const object = await target.kube.request<KubeObject>('GET', path, { signal })
    if (!isMap(object.metadata)) throw KubeError.unreachable('GET', path, 'the answer is no object of Kubernetes')
    return object
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** `Deployment default/web`, for people. */
export function describeObject({ kind, name, namespace }: ObjectReference): string {
  return `${kind} ${namespace === undefined || namespace === '' ? '' : `${namespace}/`}${name}`
}

/** Whether a text can stand in a path as the name of an object. Source: Kubernetes' path segment names. */
export function isName(text: string): boolean {
  return text !== '' && text !== '.' && text !== '..' && !/[/%]/.test(text)
}
