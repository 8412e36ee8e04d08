// Creates the client of an API server from a kubeconfig or the pod's service account, and defines the types of objects
// on the wire.
//
// client-node reads the kubeconfig and authenticates, but it opens a new TLS connection for every call (facts.md: 3.4
// times slower) and does not notice a silent connection. So one connection pool of Pawl serves all requests.
//
//   C1. client-node is loaded only for kubeconfigs that plain-kubeconfig.ts does not read: its 870 modules take a third
//       of a second of CPU. Source: docs/adr/0079.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type * as ClientNode from '@kubernetes/client-node'
import type { buildConnector } from 'undici'
import { type HttpClientOptions, HttpKubeClient, type KubeAccess, type KubeClient } from './http-client.ts'
import { PROBE_AFTER_MS } from './live-agent.ts'
import { readPlainKubeconfig } from './plain-kubeconfig.ts'

export type { KubeClient, KubeConnection, Method, RequestOptions, StreamedResponse } from './http-client.ts'

/** A Kubernetes object on the wire. */
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
  /** In seconds; 0 or absent: no grace period. */
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
    readonly subresource?: string
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

/** Path of a kind: `apis/<group>/<version>` or `api/v1`, and the plural. */
export interface Resource {
  readonly apiVersion: string
  readonly plural: string
}

export interface KubeClientOptions extends HttpClientOptions {
  /** Path of a kubeconfig; absent: the pod's service account. */
  readonly kubeconfigPath?: string | undefined
  /** Text of a kubeconfig that does not come from a file. */
  readonly kubeconfig?: string
}

export function createKubeClient(options: KubeClientOptions): KubeClient {
  const kubeconfig = textOf(options)
  const plain = isJson(kubeconfig) ? readPlainKubeconfig(kubeconfig) : undefined
  return new HttpKubeClient(plain ?? libraryAccess({ kubeconfig }), options)
}

function textOf({ kubeconfig, kubeconfigPath }: KubeClientOptions): string | undefined {
  return kubeconfig ?? (kubeconfigPath === undefined ? undefined : readFileSync(kubeconfigPath, 'utf8'))
}

function isJson(text: string | undefined): text is string {
  try {
    return text?.trimStart().startsWith('{') === true && typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}

/**
 * Access by client-node: exec plugins, auth providers, proxies.
 *
 * @param options.kubeconfig undefined: the pod's service account.
 * @throws for a text that is not a kubeconfig.
 */
export function libraryAccess({ kubeconfig }: { readonly kubeconfig: string | undefined }): KubeAccess {
  // Synchronous, because constructors create clients.
  const library = createRequire(import.meta.url)('@kubernetes/client-node') as typeof ClientNode
  const [config, connect] = loadConfig(library, kubeconfig)
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
    server,
    connection,
    authenticate: async () => {
      const context = new library.RequestContext(server, library.HttpMethod.GET)
      await config.applySecurityAuthentication(context)
      return { headers: context.getHeaders(), connect: connect(), dispatcher: context.getDispatcher() }
    },
  }
}

/**
 * Loads the config without connecting: it returns connection options instead, except for a proxy that the kubeconfig
 * names.
 */
function loadConfig(
  { KubeConfig }: typeof ClientNode,
  kubeconfig: string | undefined,
): [config: ClientNode.KubeConfig, connect: () => buildConnector.BuildOptions] {
  let connect: buildConnector.BuildOptions = {}
  class ReportingConfig extends KubeConfig {
    override createDispatcherOptions(
      ...of: Parameters<ClientNode.KubeConfig['createDispatcherOptions']>
    ): ClientNode.DispatcherOptions {
      const options = super.createDispatcherOptions(...of)
      if (options.type === 'proxy')
        return { ...options, connect: { ...options.connect, keepAliveInitialDelay: PROBE_AFTER_MS } }
      if (options.type !== 'agent') return options
      // The library's type does not express that fields without a value are left out.
      connect = options.connect as buildConnector.BuildOptions
      return { type: 'none' }
    }
  }
  const config = new ReportingConfig()
  if (kubeconfig === undefined) config.loadFromCluster()
  else config.loadFromString(kubeconfig)
  return [config, () => connect]
}

function currentCluster(config: ClientNode.KubeConfig) {
  const cluster = config.getCurrentCluster()
  if (cluster === null)
    throw new Error(`kubeconfig: context "${config.currentContext}" has no cluster; check clusters and contexts`)
  return cluster
}
