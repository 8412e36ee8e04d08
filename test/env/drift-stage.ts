// One object with a twin: a job of a manifest item applies the object, `kubectl apply --server-side --force-conflicts` applies the twin, and other
// field managers change both in the same way.

import { beforeAll, expect } from 'vitest'
import type { KubeObject } from '../../activities/kube/client.ts'
import { isAlreadyExists, KubeError } from '../../activities/kube/errors.ts'
import { OWNERSHIP_LABELS } from '../../activities/landscaper/deploy/manifest/ownership-labels.ts'
import { customKind } from '../activities/landscaper/deploy/manifest/ordinary-objects.ts'
import type { TargetStage, TestItem } from '../activities/landscaper/deploy/manifest/target-stage.ts'

export type Fields = Readonly<Record<string, unknown>>

/** An object without its name and namespace. */
export interface Sample {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata?: Fields
  readonly [field: string]: unknown
}

/** What another field manager does. */
export interface OtherWrite {
  /** A merge patch. */
  readonly patch: Fields
  readonly by?: string
  readonly subresource?: string
}

const PLURALS: Readonly<Record<string, string>> = {
  ConfigMap: 'configmaps',
  Secret: 'secrets',
  Service: 'services',
  Deployment: 'deployments',
  PodTemplate: 'podtemplates',
  Role: 'roles',
  NetworkPolicy: 'networkpolicies',
  Drifter: 'drifters',
}

const DRIFTERS = customKind('drifters', 'Drifter').definition

/** Kind Drifter: any spec, in namespaces. */
export const DRIFTER = 'drifters.example/v1'

/** The twins' namespace, and the kind Drifter. */
export function useTwins(stage: TargetStage): string {
  const namespace = `${stage.namespace}-twins`
  beforeAll(async () => {
    await stage.create({ metadata: { name: namespace } }, '/api/v1/namespaces')
    const { apiVersion } = DRIFTERS
    const crds = `/apis/${apiVersion}/customresourcedefinitions`
    const crd = { ...DRIFTERS, spec: { ...DRIFTERS.spec, scope: 'Namespaced' } }
    await stage.create(crd, crds).catch((error: unknown) => {
      // Another file has created the kind on the same servers.
      if (!isAlreadyExists(error)) throw error
    })
  })
  return namespace
}

export class Twins {
  readonly #stage: TargetStage
  readonly #item: TestItem
  readonly #strategy: string
  readonly #name: string
  readonly #sample: Sample

  constructor(
    stage: TargetStage,
    name: string,
    { sample, strategy = 'update' }: { sample: Sample; strategy?: string },
  ) {
    this.#stage = stage
    this.#name = name
    this.#sample = sample
    this.#strategy = strategy
    this.#item = stage.item(name)
  }

  get path(): string {
    return this.#path(this.#stage.namespace)
  }

  get #twin(): string {
    return this.#path(`${this.#stage.namespace}-twins`)
  }

  #path(namespace: string): string {
    const { apiVersion, kind } = this.#sample
    const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    return `${root}/namespaces/${namespace}/${PLURALS[kind] ?? ''}/${this.#name}`
  }

  /** A job on our object. */
  async job(sample = this.#sample): Promise<void> {
    const metadata = { ...sample.metadata, name: this.#name, namespace: this.#stage.namespace }
    const fields = { updateStrategy: this.#strategy, readinessChecks: { disableDefault: true } }
    await this.#item.configure([{ manifest: { ...sample, metadata } }], fields).reconcile()
  }

  /** The twin is applied. */
  async apply(sample = this.#sample): Promise<void> {
    const metadata = { ...sample.metadata, name: this.#name }
    await this.#stage.kube.request('PATCH', this.#twin, {
      body: { ...sample, metadata },
      contentType: 'application/apply-patch+yaml',
      query: { fieldManager: OWNERSHIP_LABELS.fieldManager, force: 'true' },
    })
  }

  /** @returns whether the server took it. */
  async change({ patch, by = 'someone', subresource }: OtherWrite): Promise<boolean> {
    const options = { body: patch, contentType: 'application/merge-patch+json', query: { fieldManager: by } } as const
    const suffix = subresource === undefined ? '' : `/${subresource}`
    try {
      await this.#stage.kube.request('PATCH', `${this.#twin}${suffix}`, options)
    } catch (error) {
      if (error instanceof KubeError && error.status < 500) return false
      throw error
    }
    await this.#stage.kube.request('PATCH', `${this.path}${suffix}`, options)
    return true
  }

  async expectAlike(): Promise<void> {
    expect(await this.ours()).toEqual(await this.twin())
  }

  async ours(): Promise<Fields> {
    return content(await this.#stage.get(this.path))
  }

  async twin(): Promise<Fields> {
    return content(await this.#stage.get(this.#twin))
  }
}

/** What users and controllers write of an object, without the marks of the deployer and addresses that the server chose. */
function content(object: KubeObject | undefined): Fields {
  if (object === undefined) throw new Error('the object is not there')
  const { metadata } = object
  const labels = without(metadata.labels ?? {}, [OWNERSHIP_LABELS.label])
  const annotations = without(metadata.annotations ?? {}, [OWNERSHIP_LABELS.hash, 'deployment.kubernetes.io/revision'])
  const spec = without(object['spec'] ?? {}, ['clusterIP', 'clusterIPs'])
  return {
    ...without(object, ['status']),
    spec,
    metadata: { labels, annotations, finalizers: metadata.finalizers ?? [] },
  }
}

function without(fields: object, keys: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !keys.includes(key)))
}
