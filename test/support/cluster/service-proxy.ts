// The Services of a test namespace: the parts of kube-proxy and of the cluster's DNS. It listens on the address of each
// Service (cluster-network.ts) and forwards connections to a ready pod of the Service's EndpointSlices. The names are in a
// file that pods have as /etc/hosts.

import { truncateSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'

import type { KubeClient, KubeObject } from '../../../activities/kube/client.ts'
import { followObjects } from '../../../activities/kube/follow-objects.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { joinSockets, loopbackAddress } from './cluster-network.ts'

const SERVICES = { apiVersion: 'v1', plural: 'services' }
const SLICES = { apiVersion: 'discovery.k8s.io/v1', plural: 'endpointslices' }
const SERVICE_NAME = 'kubernetes.io/service-name'

interface ServicePort {
  readonly name?: string
  readonly port: number
}

interface Service extends KubeObject {
  readonly spec: { readonly clusterIP: string; readonly ports: readonly ServicePort[] }
}

export interface EndpointSlice extends KubeObject {
  /** Null while the Service has no pod. */
  readonly endpoints:
    | readonly {
        readonly addresses: readonly string[]
        readonly conditions: { readonly ready?: boolean }
      }[]
    | null
  readonly ports: readonly { readonly name: string; readonly port: number }[] | null
}

export interface Target {
  readonly host: string
  readonly port: number
}

export class ServiceProxy {
  readonly #kube: Pick<KubeClient, 'request' | 'stream'>
  readonly #namespace: string
  readonly #hostsPath: string
  readonly #stop = new AbortController()
  readonly #services = new Map<string, Service>()
  readonly #slices = new Map<string, EndpointSlice>()
  /** By `HOST:PORT`. */
  readonly #listeners = new Map<string, Server>()
  readonly #clients = new Set<Socket>()
  readonly #followed: Promise<unknown>

  /** @param hostsPath a file that exists from now on. */
  constructor(kube: Pick<KubeClient, 'request' | 'stream'>, namespace: string, hostsPath: string) {
    this.#kube = kube
    this.#namespace = namespace
    this.#hostsPath = hostsPath
    writeFileSync(hostsPath, hostsText([]))
    this.#followed = Promise.all([this.#follow(SERVICES, this.#services), this.#follow(SLICES, this.#slices)])
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#followed
    this.#services.clear()
    this.#syncListeners()
    for (const client of this.#clients) client.destroy()
  }

  async #follow<Found extends KubeObject>(
    kind: { readonly apiVersion: string; readonly plural: string },
    objects: Map<string, Found>,
  ): Promise<void> {
    const path = resourcePath(kind, this.#namespace)
    for await (const change of followObjects(this.#kube, path, { signal: this.#stop.signal })) {
      if (change.type === 'interrupted') continue
      if (change.type === 'listed') objects.clear()
      for (const object of change.type === 'listed' ? change.objects : [change.object]) {
        if (change.type === 'event' && change.eventType === 'DELETED') objects.delete(object.metadata.name)
        else objects.set(object.metadata.name, object as Found)
      }
      this.#syncListeners()
      this.#writeHosts()
    }
  }

  /** A port in use ends the test run: a Service cannot wait for it. */
  #syncListeners(): void {
    const expected = new Map<string, Target & { readonly name: string; readonly servicePort: ServicePort }>(
      [...this.#services.values()].flatMap(({ metadata: { name }, spec: { clusterIP, ports } }) =>
        clusterIP === 'None'
          ? []
          : ports.map((servicePort) => {
              const [host, { port }] = [loopbackAddress(clusterIP), servicePort]
              return [`${host}:${port}`, { name, host, port, servicePort }]
            }),
      ),
    )
    for (const [address, listener] of this.#listeners) {
      if (expected.has(address)) continue
      listener.close()
      this.#listeners.delete(address)
    }
    for (const [address, { name, host, port, servicePort }] of expected) {
      if (this.#listeners.has(address)) continue
      const listener = createServer((client) => this.#forward(client, name, servicePort)).listen(port, host)
      this.#listeners.set(address, listener)
    }
  }

  /** Without a ready pod, the client's connection is closed. */
  #forward(client: Socket, service: string, port: ServicePort): void {
    this.#clients.add(client)
    client.on('close', () => this.#clients.delete(client))
    const targets = readyTargets(service, port, [...this.#slices.values()])
    const chosen = targets[Math.floor(Math.random() * targets.length)]
    if (chosen === undefined) client.destroy()
    else joinSockets(client, connect(chosen))
  }

  /** In place, because pods have the file as a mount. */
  #writeHosts(): void {
    const text = hostsText([...this.#services.values()])
    writeFileSync(this.#hostsPath, text, { flag: 'r+' })
    truncateSync(this.#hostsPath, Buffer.byteLength(text))
  }
}

/** Where a port of a Service leads to on this machine. */
export function readyTargets(
  service: string,
  { name = '' }: ServicePort,
  slices: readonly EndpointSlice[],
): readonly Target[] {
  return slices
    .filter(({ metadata: { labels = {} } }) => labels[SERVICE_NAME] === service)
    .flatMap(({ endpoints, ports }) => {
      const ready = (endpoints ?? []).filter(({ conditions }) => conditions.ready !== false)
      return (ports ?? [])
        .filter((port) => port.name === name)
        .flatMap(({ port }) =>
          ready.flatMap(({ addresses }) => addresses.map((address) => ({ host: loopbackAddress(address), port }))),
        )
    })
}

function hostsText(services: readonly Service[]): string {
  const lines = services
    .filter(({ spec }) => spec.clusterIP !== 'None')
    .map(({ metadata: { name, namespace = '' }, spec }) => {
      const names = [name, `${name}.${namespace}`, `${name}.${namespace}.svc`, `${name}.${namespace}.svc.cluster.local`]
      return `${loopbackAddress(spec.clusterIP)} ${names.join(' ')}`
    })
  return ['127.0.0.1 localhost', ...lines].map((line) => `${line}\n`).join('')
}
