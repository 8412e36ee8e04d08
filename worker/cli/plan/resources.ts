// Where objects of a kind live on a cluster, as the API server says.

import type { KubeClient, KubeObject } from '../../../activities/kube/client.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { isNotFound } from '../../../activities/kube/kube-error.ts'

interface Served {
  readonly name: string
  readonly kind: string
  readonly namespaced: boolean
}

type Place = Readonly<Record<'apiVersion' | 'kind', string>>

export class Resources {
  readonly #kube: Pick<KubeClient, 'request'>
  readonly #served = new Map<string, Promise<readonly Served[]>>()

  constructor(kube: Pick<KubeClient, 'request'>) {
    this.#kube = kube
  }

  /** @param namespace of objects that say none. @returns undefined where the server does not know the kind. */
  async placeOf(object: KubeObject & Place, namespace: string): Promise<ObjectPlace | undefined> {
    const { apiVersion, kind, metadata } = object
    const found = (await this.#kinds(apiVersion)).find((one) => one.kind === kind && !one.name.includes('/'))
    if (found === undefined) return undefined
    const within = found.namespaced ? (metadata.namespace ?? namespace) : undefined
    const path = resourcePath({ apiVersion, plural: found.name }, within, metadata.name)
    return { path, namespace: within ?? '' }
  }

  async #kinds(apiVersion: string): Promise<readonly Served[]> {
    const known = this.#served.get(apiVersion)
    if (known !== undefined) return await known
    const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    const asked = this.#kube.request<{ readonly resources: readonly Served[] }>('GET', path).then(
      ({ resources }) => resources,
      (error: unknown) => {
        if (isNotFound(error)) return []
        throw error
      },
    )
    this.#served.set(apiVersion, asked)
    return await asked
  }
}

export interface ObjectPlace {
  readonly path: string
  /** Empty: it is of no namespace. */
  readonly namespace: string
}
