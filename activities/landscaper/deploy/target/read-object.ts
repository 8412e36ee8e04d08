// Reads an object of a target cluster by apiVersion, kind, namespace and name.

import type { KubeObject } from '../../../kube/client.ts'
import { resourcePath } from '../../../kube/resource-path.ts'
import { isNotFound } from '../../../kube/errors.ts'
import { configurationProblem } from '../run/deploy-errors.ts'
import { objectOf } from './answers.ts'
import type { ServedKind, TargetCluster } from './target-cluster.ts'

export interface ObjectReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  /** Ignored for cluster-scoped kinds. */
  readonly namespace?: string | undefined
}

/** @returns undefined when the object, or its kind, does not exist. @throws KubeError, DeployError */
export async function readObject(
  target: TargetCluster,
  reference: ObjectReference,
  signal?: AbortSignal,
): Promise<KubeObject | undefined> {
  return await readAsServed(target, reference, signal)
}

/** Like readObject, for a reference of a user, whose namespace may be missing. @throws also DeployError with ERR_CONFIGURATION_PROBLEM */
export async function readReferred(
  target: TargetCluster,
  reference: ObjectReference,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  return await readAsServed(target, reference, signal, ({ namespaced }) => {
    const { kind, namespace } = reference
    if (!namespaced || namespace !== undefined) return
    const message = `${describeObject(reference)}: namespace: found nothing; expected a namespace, because ${kind} is a namespaced kind`
    throw configurationProblem('ReadObject', 'InvalidConfiguration', message)
  })
}

const MOST_TRIES = 3

/** Reads again if a 404 has dropped the cached kind (discovery.ts V2), and the kind now has another path. */
async function readAsServed(
  target: TargetCluster,
  { apiVersion, kind, name, namespace }: ObjectReference,
  signal: AbortSignal | undefined,
  check: (served: ServedKind) => void = () => undefined,
): Promise<KubeObject | undefined> {
  let tried: ServedKind | undefined
  for (let tries = 1; tries <= MOST_TRIES; tries++) {
    const served = await target.servedKind(apiVersion, kind, signal)
    if (served === undefined || isSameKind(served, tried)) return undefined
    check(served)
    const object = await readServed(target, { served, name, namespace, signal })
    if (object !== undefined) return object
    tried = served
  }
  return undefined
}

/** Whether objects of both kinds have the same paths. */
export function isSameKind(one: ServedKind | undefined, other: ServedKind | undefined): boolean {
  return one?.apiVersion === other?.apiVersion && one?.plural === other?.plural && one?.namespaced === other?.namespaced
}

interface ServedObject {
  readonly served: ServedKind
  readonly name: string
  readonly namespace?: string | undefined
  readonly signal: AbortSignal | undefined
}

/** @returns undefined when the object does not exist. @throws KubeError, DeployError */
export async function readServed(
  target: TargetCluster,
  { served, name, namespace, signal }: ServedObject,
): Promise<KubeObject | undefined> {
  if (!isName(name)) return undefined
  if (served.namespaced && (namespace === undefined || !isName(namespace))) return undefined
  try {
    const path = resourcePath(served, served.namespaced ? namespace : undefined, name)
    return objectOf(await target.kube.request<unknown>('GET', path, { signal }), ['GET', path])
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** `Deployment "default/web"`, for messages. */
export function describeObject({ kind, name, namespace }: ObjectReference): string {
  return `${kind} "${namespace === undefined || namespace === '' ? '' : `${namespace}/`}${name}"`
}

/** Whether a text is valid as an object's name in a path. Source: Kubernetes' path segment names. */
export function isName(text: string): boolean {
  return text !== '' && text !== '.' && text !== '..' && !/[/%]/.test(text)
}
