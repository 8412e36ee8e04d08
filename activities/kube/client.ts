// The client of an API server as a kubeconfig says it, or the pod's service account; and how objects look on the way.
//
// client-node reads the kubeconfig and applies its authentication, but makes a new TLS connection for every call
// (facts.md: 3.4 times slower) and would wait for one that fell silent. So one pool of our own serves every request.

import { readFileSync } from 'node:fs'
import { type DispatcherOptions, HttpMethod, KubeConfig, RequestContext } from '@kubernetes/client-node'
import type { buildConnector } from 'undici'
import { type HttpClientOptions, HttpKubeClient, type KubeAccess, type KubeClient } from './http-client.ts'
import { PROBE_AFTER_MS } from './live-agent.ts'

export type { KubeClient, KubeConnection, Method, RequestOptions, StreamedResponse } from './http-client.ts'

/** Any Kubernetes object as it travels. */
export interface KubeObject {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: ObjectMeta
  readonly [field: string]: unknown
}

export interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly deletionTimestamp?: string
  /** In seconds; 0 or absent: nobody is given time to end it. */
  readonly deletionGracePeriodSeconds?: number
  readonly creationTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
  readonly ownerReferences?: readonly OwnerReference[]
  /** `time` in whole seconds of the server's clock. */
  readonly managedFields?: readonly {
    readonly manager?: string
    /** `Update`, or `Apply` for server-side apply. */
    readonly operation?: string
    readonly time?: string
    readonly fieldsV1?: Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>
  }[]
}

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

export interface ObjectList {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string }
  readonly items: readonly KubeObject[]
}

/** Where objects of a kind live: `apis/<group>/<version>` or `api/v1`, and the plural of the path. */
export interface Resource {
  readonly apiVersion: string
  readonly plural: string
}

export interface KubeClientOptions extends HttpClientOptions {
  /** Path of a kubeconfig; absent: the service account of the pod. */
  readonly kubeconfigPath?: string | undefined
  /** Its text, when it does not come from a file. */
  readonly kubeconfig?: string
}

export function createKubeClient(options: KubeClientOptions): KubeClient {
  return new HttpKubeClient(libraryAccess(options), options)
}

/** All that the library understands: exec plugins, providers, proxies. @throws for what is no kubeconfig. */
export function libraryAccess(options: Pick<KubeClientOptions, 'kubeconfigPath' | 'kubeconfig'>): KubeAccess {
  const config = loadConfig(options)
  const server = currentCluster(config).server.replace(/\/$/, '')
  const connection = () => {
    const { caFile, caData, tlsServerName, skipTLSVerify } = currentCluster(config)
    const authority = caFile === undefined || caFile === '' ? caData : readFileSync(caFile).toString('base64')
    return {
      server,
      isInsecure: skipTLSVerify,
      ...(authority !== undefined && { caData: authority }),
      ...(tlsServerName !== undefined && { tlsServerName }),
    }
  }
  return {
    ...{ server, connection },
    authenticate: async () => {
      const context = new RequestContext(server, HttpMethod.GET)
      await config.applySecurityAuthentication(context)
      return { headers: context.getHeaders(), connect: config.connect, dispatcher: context.getDispatcher() }
    },
  }
}

/** Says how to connect instead of doing it, unless over a proxy that the kubeconfig names. */
class TellingConfig extends KubeConfig {
  connect: buildConnector.BuildOptions = {}

  override createDispatcherOptions(...of: Parameters<KubeConfig['createDispatcherOptions']>): DispatcherOptions {
    const options = super.createDispatcherOptions(...of)
    if (options.type === 'proxy')
      return { ...options, connect: { ...options.connect, keepAliveInitialDelay: PROBE_AFTER_MS } }
    if (options.type !== 'agent') return options
    // What is not given is left out of them, which their type does not say.
    this.connect = options.connect as buildConnector.BuildOptions
    return { type: 'none' }
  }
}

function loadConfig({
  kubeconfigPath,
  kubeconfig,
}: Pick<KubeClientOptions, 'kubeconfigPath' | 'kubeconfig'>): TellingConfig {
  const config = new TellingConfig()
  if (kubeconfig !== undefined) config.loadFromString(kubeconfig)
  else if (kubeconfigPath !== undefined) config.loadFromString(readFileSync(kubeconfigPath, 'utf8'))
  else config.loadFromCluster()
  return config
}

function currentCluster(config: KubeConfig) {
  const cluster = config.getCurrentCluster()
  if (cluster === null) throw new Error(`kubeconfig: context "${config.currentContext}" names no cluster`)
  return cluster
}
