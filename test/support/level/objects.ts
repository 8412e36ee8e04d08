// Requests of a test to the API server, for the objects of kinds that the test installs and for built-in kinds.

import { vi } from 'vitest'
import { parse } from 'yaml'

import type { KubeObject, ObjectList } from '../../../activities/kube/client.ts'
import { isNotFound } from '../../../activities/kube/errors.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { crdDocument } from '../../../worker/gen/crd.ts'
import type { Kind } from '../../../workflows/kit/index.ts'
import type { Stage } from '../pawl/stage.ts'

export interface Resource {
  readonly apiVersion: string
  readonly plural: string
}

export const CONFIG_MAPS: Resource = { apiVersion: 'v1', plural: 'configmaps' }
/** Patient, for a busy machine. */
export const WAIT = { timeout: 60_000, interval: 50 }

/** Requests for objects in the namespace of a stage, unless a request names another one. */
export function objectsOf(stage: Stage) {
  const kube = () => stage.cluster.kube

  function pathOf({ apiVersion, plural }: Resource, name?: string, namespace = stage.cluster.namespace): string {
    return resourcePath({ apiVersion, plural }, namespace, name)
  }

  async function request(method: 'GET' | 'POST' | 'DELETE', resource: Resource, name?: string, body?: object) {
    return await kube().request<KubeObject>(method, pathOf(resource, name), { ...(body && { body }) })
  }

  async function patch(resource: Resource, name: string, body: object): Promise<void> {
    const contentType = 'application/merge-patch+json'
    await kube().request('PATCH', pathOf(resource, name), { body, contentType })
  }

  async function get(resource: Resource, name: string, namespace?: string): Promise<KubeObject | undefined> {
    try {
      return await kube().request<KubeObject>('GET', pathOf(resource, name, namespace))
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  async function list(resource: Resource, namespace?: string): Promise<readonly KubeObject[]> {
    return (await kube().request<ObjectList>('GET', pathOf(resource, undefined, namespace))).items
  }

  async function create({ apiVersion, kind, plural }: Kind, name: string, spec: object): Promise<KubeObject> {
    return await request('POST', { apiVersion, plural }, undefined, { apiVersion, kind, metadata: { name }, spec })
  }

  /** Installs the CRD of a kind, and waits until the API server serves the kind. */
  async function install(kind: Kind): Promise<void> {
    const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    await kube().request('POST', crds, { body: parse(crdDocument(kind)) as object })
    const namespace = kind.scope === 'Cluster' ? undefined : stage.cluster.namespace
    await vi.waitFor(async () => await kube().request('GET', resourcePath(kind, namespace)), WAIT)
  }

  return { pathOf, request, patch, get, list, create, install }
}
