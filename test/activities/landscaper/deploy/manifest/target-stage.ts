// Runs the manifest deployer for a deploy item on a real cluster. The test replaces the runner: it stores the item's
// provider status between calls.

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach } from 'vitest'

import { type DeployStep, type ItemWork, takeStep } from '../../../../../activities/landscaper/deploy/run/deployer.ts'
import { deployer } from '../../../../../activities/landscaper/deploy/manifest/deployer.ts'
import type { ManagedResource } from '../../../../../activities/landscaper/deploy/objects/managed-resources.ts'
import { createTargetCluster } from '../../../../../activities/landscaper/deploy/target/discovery.ts'
import type { TargetCluster } from '../../../../../activities/landscaper/deploy/target/target-cluster.ts'
import { createKubeClient, type KubeClient, type KubeObject } from '../../../../../activities/kube/client.ts'
import { isNotFound, KubeError } from '../../../../../activities/kube/errors.ts'
import { storedAs } from '../../../../../activities/kube/object-views.ts'
import { deployItemKind } from '../../../../../workflows/landscaper/deploy-item/kind.ts'
import { config } from './manifests.ts'
import { data } from '../../tenant-data.ts'

type Fields = Readonly<Record<string, unknown>>

const WAIT_MS = 50_000
const PAUSE_MS = 50

/** A client that records its requests, and fails the requests that a test selects. */
export class RecordingKube implements KubeClient {
  readonly #kube: KubeClient
  requests: { readonly method: string; readonly path: string; readonly query: Fields }[] = []
  refuse: (method: string, path: string) => KubeError | undefined = () => undefined
  /** Called before a request is sent. */
  before: (method: string, path: string) => Promise<unknown> = () => Promise.resolve()

  constructor(kubeconfigPath: string) {
    this.#kube = createKubeClient({ kubeconfigPath, userAgent: 'test' })
  }

  get connection() {
    return this.#kube.connection
  }

  get writes() {
    return this.requests.filter(({ method, query }) => method !== 'GET' && query['dryRun'] === undefined)
  }

  get dryRuns() {
    return this.requests.filter(({ query }) => query['dryRun'] !== undefined)
  }

  async request<T>(...[method, path, options]: Parameters<KubeClient['request']>): Promise<T> {
    this.requests.push({ method, path, query: options?.query ?? {} })
    const refused = this.refuse(method, path)
    if (refused !== undefined) throw refused
    await this.before(method, path)
    return await this.#kube.request<T>(method, path, options)
  }

  stream(...args: Parameters<KubeClient['stream']>) {
    return this.#kube.stream(...args)
  }

  close() {
    return this.#kube.close()
  }
}

/** The 403 of an API server when no role permits the request. */
export const forbidden = () => new KubeError('no role allows it', { status: 403, reason: 'Forbidden' })

export class TargetStage {
  readonly namespace: string
  readonly kube: RecordingKube

  constructor(kubeconfigPath: string, namespace: string) {
    this.kube = new RecordingKube(kubeconfigPath)
    this.namespace = namespace
  }

  /** A new cluster with an empty discovery cache. */
  cluster(): TargetCluster {
    return createTargetCluster(this.kube, () => new Date(), 'Target "stage"')
  }

  item(name: string, others: Readonly<Record<string, TargetCluster>> = {}): TestItem {
    return new TestItem(this, name, others)
  }

  /** An item that has run its first job. */
  async deployed(name: string, ...configuration: Parameters<TestItem['configure']>): Promise<TestItem> {
    const item = this.item(name).configure(...configuration)
    await item.reconcile()
    return item
  }

  configMap(name: string, data: Fields = { a: '1' }, metadata: Fields = {}) {
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: this.namespace, ...metadata }, data }
  }

  mapPath(name = ''): string {
    return `/api/v1/namespaces/${this.namespace}/configmaps${name === '' ? '' : `/${name}`}`
  }

  async get(path: string): Promise<KubeObject | undefined> {
    try {
      return await this.kube.request<KubeObject>('GET', path)
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  async map(name: string): Promise<KubeObject | undefined> {
    return await this.get(this.mapPath(name))
  }

  async data(name: string): Promise<unknown> {
    return (await this.map(name))?.['data']
  }

  async create(object: KubeObject, collection = this.mapPath()): Promise<KubeObject> {
    return await this.kube.request<KubeObject>('POST', collection, { body: object })
  }

  async patch(path: string, body: Fields): Promise<KubeObject> {
    return await this.kube.request<KubeObject>('PATCH', path, { body, contentType: 'application/merge-patch+json' })
  }
}

/** A DeployItem that keeps its provider status over several jobs. */
export class TestItem {
  readonly #stage: TargetStage
  readonly #name: string
  readonly #target: TargetCluster
  readonly #others: Readonly<Record<string, TargetCluster>>
  #config: Fields = config({})
  providerStatus: Fields | undefined
  /** `reconcile` starts a new job. */
  jobID = 'job-0'
  #jobs = 0

  constructor(stage: TargetStage, name: string, others: Readonly<Record<string, TargetCluster>>) {
    this.#stage = stage
    this.#name = name
    this.#target = stage.cluster()
    this.#others = others
  }

  /** The names of the managed resources in the provider status. */
  get managed(): readonly string[] {
    const { managedResources = [] } = (this.providerStatus ?? {}) as { managedResources?: readonly ManagedResource[] }
    return managedResources.map(({ resource }) => resource.name).sort()
  }

  configure(manifests: readonly (Fields | { manifest: unknown })[], fields: Fields = {}): this {
    const entries = manifests.map((one) => ('manifest' in one ? one : { manifest: one }))
    this.#config = config({ manifests: entries, ...fields })
    return this
  }

  /** Calls the deployer once and stores its provider status, as the runner does. Thrown errors become failures. */
  async step(act: 'install' | 'check' | 'uninstall'): Promise<DeployStep> {
    const step = await takeStep(deployer, act, this.#work())
    if (step.providerStatus !== undefined) this.providerStatus = step.providerStatus
    return step
  }

  /** Runs a whole job: installs, then checks until the item is ready. @throws when it fails or takes too long */
  async reconcile(): Promise<DeployStep & { result: 'done' }> {
    this.jobID = `job-${++this.#jobs}`
    return await this.#until((index) => this.step(index === 0 ? 'install' : 'check'))
  }

  async uninstall(): Promise<void> {
    await this.#until(() => this.step('uninstall'))
  }

  async #until(step: (index: number) => Promise<DeployStep>): Promise<DeployStep & { result: 'done' }> {
    const deadline = Date.now() + WAIT_MS
    for (let index = 0; ; index++) {
      const answer = await step(index)
      if (answer.result === 'done') return answer
      if (answer.result === 'failed') throw answer.error
      if (Date.now() > deadline) throw new Error(`still waiting: ${answer.waitingFor}`)
      await sleep(PAUSE_MS)
    }
  }

  #work(): ItemWork {
    const { jobID, providerStatus } = this
    const status = { jobID, ...(providerStatus !== undefined && { providerStatus }) }
    return {
      item: storedAs(deployItemKind, {
        metadata: { name: this.#name, namespace: this.#stage.namespace },
        spec: { config: this.#config },
        status,
      }),
      target: this.#target,
      openTarget: (name) => {
        const other = this.#others[name]
        return other === undefined ? Promise.reject(new Error(`no target ${name}`)) : Promise.resolve(other)
      },
      data,
      signal: new AbortController().signal,
    }
  }
}

/** Creates a namespace for the test file, and a client that resets its records before each test. */
export function useTargetStage(kubeconfigPath: string, namespace: string): TargetStage {
  const stage = new TargetStage(kubeconfigPath, namespace)
  beforeAll(async () => {
    await stage.create({ metadata: { name: namespace } }, '/api/v1/namespaces')
  })
  beforeEach(() => {
    stage.kube.requests = []
    stage.kube.refuse = () => undefined
    stage.kube.before = () => Promise.resolve()
  })
  afterAll(() => stage.kube.close())
  return stage
}
