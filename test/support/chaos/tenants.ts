// Provides a cluster with the wing `chaos` for one test file, and helpers for nodes, pods, Disruptions and Events.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, vi } from 'vitest'

import type { KubeObject, ObjectList } from '../../../activities/kube/client.ts'
import { isNotFound } from '../../../activities/kube/errors.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import type { DisruptionStatus } from '../../../workflows/chaos/disruption/kind.ts'
import type { Cluster, LsObject } from '../cluster/cluster.ts'
import { type Tenants, type TenantsOptions, useTenants } from '../tenants/tenants.ts'
import { configFile } from './config-file.ts'
import type { ChaosKubelet } from './kubelet.ts'

export const CHAOS = 'chaos.datadoghq.com/v1beta1'
export const PATIENT = { timeout: 60_000, interval: 50 }
/** Flags of a worker with which another worker soon continues the tasks of a killed one. */
export const SHORT_TIMEOUTS = [
  ...['--workflow-task-timeout-ms', '5000', '--sticky-timeout-ms', '2000', '--wake-lease-ms', '5000'],
]
const MERGE = 'application/merge-patch+json'
const HEARTBEAT_MS = 10_000

export class ChaosTenants<Name extends string> {
  /** A temporary folder, which is deleted after the tests of the file. */
  readonly folder: string
  readonly tenants: Tenants<Name>
  /** Heartbeat timers of the created nodes. */
  readonly beats = new Set<NodeJS.Timeout>()

  constructor(folder: string, tenants: Tenants<Name>) {
    this.folder = folder
    this.tenants = tenants
  }

  of(name: Name): ChaosCluster {
    return new ChaosCluster(this.tenants.of(name), this.beats)
  }
}

export interface ChaosOptions extends Pick<TenantsOptions, 'proxied' | 'workerFlags' | 'environments'> {
  /** The `cloudProviders` part of the configuration. */
  readonly cloudProviders?: object
  /** `injector.chaosNamespace` in the configuration. */
  readonly chaosNamespace?: string
}

/**
 * Sets up the cluster before the tests of the file and removes it afterwards. Deleted Disruptions disappear without
 * delay, because `finalizerDeletionDelay` is 0 s.
 *
 * @param controller returns additional fields of `controller` in the configuration. Its argument is the folder.
 */
export function useChaos<const Name extends string>(
  name: string,
  names: readonly Name[],
  controller: (folder: string) => object = () => ({}),
  { cloudProviders = {}, chaosNamespace, workerFlags = [], ...options }: ChaosOptions = {},
): ChaosTenants<Name> {
  const folder = mkdtempSync(join(tmpdir(), `pawl-${name}-`))
  // Vitest runs afterAll hooks in reverse order: this hook runs after the hooks that stop processes.
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  })
  const ofBoth = ['--wings', 'chaos', '--content-key', join(folder, 'content.key')]
  const config = configFile(folder, {
    controller: { finalizerDeletionDelay: '0s', ...controller(folder) },
    cloudProviders,
    injector: chaosNamespace === undefined ? {} : { chaosNamespace },
  })
  const tenants = useTenants(name, names, undefined, {
    ...options,
    wings: ['chaos'],
    bridgeFlags: ofBoth,
    workerFlags: [...ofBoth, '--chaos-config', config, ...workerFlags],
  })
  const all = new ChaosTenants(folder, tenants)
  afterAll(() => {
    for (const beat of all.beats) clearInterval(beat)
  })
  return all
}

interface PodOptions {
  readonly labels: Readonly<Record<string, string>>
  readonly node: string
  readonly annotations?: Readonly<Record<string, string>>
  readonly containerID?: string
}

/** Helpers for one namespace. */
export class ChaosCluster {
  readonly cluster: Cluster
  readonly #beats: Set<NodeJS.Timeout>
  constructor(cluster: Cluster, beats: Set<NodeJS.Timeout>) {
    this.cluster = cluster
    this.#beats = beats
  }

  async disrupt(name: string, spec: object): Promise<KubeObject> {
    return await this.cluster.create({ apiVersion: CHAOS, kind: 'Disruption', metadata: { name }, spec }, 'disruptions')
  }

  async get(name: string): Promise<LsObject> {
    const found = await this.cluster.get('disruptions', name, CHAOS)
    if (found === undefined) throw new Error(`Disruption ${name} is gone`)
    return found
  }

  async status(name: string): Promise<DisruptionStatus> {
    return ((await this.get(name)).status ?? {}) as DisruptionStatus
  }

  async until(name: string, expected: Partial<DisruptionStatus>): Promise<void> {
    await vi.waitFor(async () => expect(await this.status(name)).toMatchObject(expected), PATIENT)
  }

  async patch(name: string, spec: object): Promise<void> {
    await this.#merge(this.#path(name), { spec })
  }

  async remove(name: string): Promise<void> {
    await this.cluster.kube.request('DELETE', this.#path(name))
  }

  /** Deletes a Disruption, and ends its chaos pods as their nodes do. */
  async finish(made: KubeObject, kubelet: ChaosKubelet): Promise<void> {
    const { name } = made.metadata
    await this.remove(name)
    for (const pod of await kubelet.pods(made)) await kubelet.end(pod)
    await this.gone(name)
  }

  async gone(name: string): Promise<void> {
    const found = async () => await this.cluster.get('disruptions', name, CHAOS)
    await vi.waitFor(async () => expect(await found()).toBeUndefined(), PATIENT)
  }

  /** The Events about an object of this namespace. */
  async events(kind: string, name: string): Promise<readonly Told[]> {
    const { kube, namespace } = this.cluster
    const { items } = await kube.request<ObjectList>('GET', `/api/v1/namespaces/${namespace}/events`)
    return (items as readonly Told[]).filter(
      ({ involvedObject }) => involvedObject.kind === kind && involvedObject.name === name,
    )
  }

  /** The reasons of the Events about an object, sorted. */
  async reasons(kind: string, name: string): Promise<readonly string[]> {
    return (await this.events(kind, name)).map(({ reason }) => reason).sort()
  }

  async annotateNamespace(annotations: Readonly<Record<string, string | null>>): Promise<void> {
    await this.#merge(`/api/v1/namespaces/${this.cluster.namespace}`, { metadata: { annotations } })
  }

  /** Creates a ready node and renews its status like a kubelet, so that the node controller considers it healthy. */
  async makeNode(name: string): Promise<void> {
    await this.cluster.kube.request('POST', '/api/v1/nodes', { body: { metadata: { name } } })
    await this.#beat(name)
    const beat = setInterval(() => {
      this.#beat(name).catch((error: unknown) => {
        clearInterval(beat)
        if (!isNotFound(error)) process.stderr.write(`node ${name} has no heartbeat any more: ${String(error)}\n`)
      })
    }, HEARTBEAT_MS)
    this.#beats.add(beat)
  }

  async #beat(name: string): Promise<void> {
    const conditions = [{ type: 'Ready', status: 'True', lastHeartbeatTime: new Date().toISOString() }]
    // A strategic merge patch merges conditions by type, so other conditions that a test has written remain.
    await this.cluster.kube.request('PATCH', `/api/v1/nodes/${name}/status`, {
      body: { status: { conditions } },
      contentType: 'application/strategic-merge-patch+json',
    })
  }

  async labelPod(name: string, labels: Readonly<Record<string, string>>): Promise<void> {
    await this.#merge(`/api/v1/namespaces/${this.cluster.namespace}/pods/${name}`, { metadata: { labels } })
  }

  async labelNode(name: string, labels: Readonly<Record<string, string>>): Promise<void> {
    await this.#merge(`/api/v1/nodes/${name}`, { metadata: { labels } })
  }

  /** Creates a pod whose status is Running. */
  async runPod(name: string, { labels, node, annotations = {}, containerID }: PodOptions): Promise<void> {
    const pods = `/api/v1/namespaces/${this.cluster.namespace}/pods`
    const spec = { nodeName: node, containers: [{ name: 'app', image: 'app' }] }
    await this.cluster.kube.request('POST', pods, { body: { metadata: { name, labels, annotations }, spec } })
    const container = { name: 'app', image: 'app', imageID: '', restartCount: 0, ready: true, state: { running: {} } }
    const containerStatuses = [{ ...container, containerID: containerID ?? `containerd://${name}` }]
    await this.#merge(`${pods}/${name}/status`, {
      status: { phase: 'Running', podIP: '10.0.0.1', containerStatuses },
    })
  }

  /** Patches the status of a pod or a node like a kubelet. */
  async tell(kind: 'pods' | 'nodes', name: string, status: object): Promise<void> {
    const path = resourcePath(
      { apiVersion: 'v1', plural: kind },
      kind === 'pods' ? this.cluster.namespace : undefined,
      name,
    )
    await this.#merge(`${path}/status`, { status })
  }

  #path(name: string): string {
    return resourcePath({ apiVersion: CHAOS, plural: 'disruptions' }, this.cluster.namespace, name)
  }

  async #merge(path: string, body: object): Promise<void> {
    await this.cluster.kube.request('PATCH', path, { body, contentType: MERGE })
  }
}

type Told = KubeObject & {
  readonly type: string
  readonly reason: string
  readonly message: string
  readonly involvedObject: { readonly kind: string; readonly name: string }
}
