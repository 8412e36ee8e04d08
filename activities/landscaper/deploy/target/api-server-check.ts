// Checks after an HTTP 404 that the server is a Kubernetes API server, because a proxy or a web server answers 404 to every path.
//
//   K1. A 404 proves that a kind or an object is missing only if it names the object, or if the server answers discovery. Every API server serves
//       /api/v1 and /apis.
//   K2. A 404 for a discovery path is always checked, even if it names an object: a proxy names the cluster that it does not find.
//   K3. The check costs one request, and only after such a 404.

import type { KubeClient, Method, RequestOptions } from '../../../kube/client.ts'
import { isNotFound } from '../../../kube/errors.ts'
import { isMap } from '../objects/readiness/field-reader.ts'
import { DeployError } from '../run/deployer.ts'

const CORE = { path: '/api/v1', kind: 'APIResourceList' }
const GROUPS = { path: '/apis', kind: 'APIGroupList' }

/** An object, because test/docs/errors.test.ts finds reasons as `reason: 'NAME'`. */
const NOT_API_SERVER = { operation: 'Discovery', reason: 'NotAnAPIServer' }

/** Whether the error says that the server of the target is not a Kubernetes API server. */
export function isNotAPIServer(error: unknown): boolean {
  return error instanceof DeployError && error.reason === NOT_API_SERVER.reason
}

/**
 * The client with the check after each 404.
 *
 * @param at the object that names the server, for messages: `Target "default/cluster"`.
 * @returns a client whose requests throw a DeployError `NotAnAPIServer` without a code, hence retried, instead of the KubeError of the 404.
 */
export function withServerCheck(kube: Pick<KubeClient, 'request'>, at: string): Pick<KubeClient, 'request'> {
  return {
    async request<T>(method: Method, path: string, options?: RequestOptions): Promise<T> {
      try {
        return await kube.request<T>(method, path, options)
      } catch (error) {
        if (isNotFound(error) && (isDiscovery(path) || error.missing === undefined))
          await checkServer(kube, { at, path, signal: options?.signal })
        throw error
      }
    },
  }
}

interface UnknownPath {
  readonly at: string
  readonly path: string
  readonly signal: AbortSignal | undefined
}

/** @throws DeployError `NotAnAPIServer`; KubeError when the server does not answer the check */
async function checkServer(kube: Pick<KubeClient, 'request'>, { at, path, signal }: UnknownPath): Promise<void> {
  const proof = path.startsWith('/apis/') ? GROUPS : CORE
  const answer = path === proof.path ? undefined : await requestProof(kube, proof.path, signal)
  if (isMap(answer) && answer['kind'] === proof.kind) return
  const problem =
    answer === undefined
      ? `the server answers 404 to ${proof.path}`
      : `the server's answer to ${proof.path} is not an ${proof.kind}`
  const message = `${at}: ${problem}; check that its URL is the URL of a Kubernetes API server`
  throw new DeployError(NOT_API_SERVER.operation, NOT_API_SERVER.reason, message)
}

/** Undefined: 404. */
async function requestProof(
  kube: Pick<KubeClient, 'request'>,
  path: string,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  try {
    return await kube.request<unknown>('GET', path, { signal })
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** `/api/<version>`, `/apis/<group>` or `/apis/<group>/<version>`. */
function isDiscovery(path: string): boolean {
  return /^\/api(?:\/[^/]+|s\/[^/]+(?:\/[^/]+)?)$/.test(path)
}
