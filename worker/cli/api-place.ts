// Finds `pawl api` and sends requests to it with the token of the user's kubeconfig: directly to an address, or through
// the API server's Service proxy.
//
//   P1. The user's token is sent only to the API server, to an address that the user gave, and to the Service that the
//       user or the cluster's administrator named. In a tenant's namespace a Service can have any name, so Services are
//       never searched.
//   P2. The token is sent over TLS, except to a loopback address.

import { setTimeout as sleep } from 'node:timers/promises'

import type { KubeClient, KubeObject } from '../../activities/kube/client.ts'
import { KubeError } from '../../activities/kube/kube-error.ts'
import { isLoopback } from '../api/flags.ts'
import { ABOUT_PATH, ASK_PATH, TOKEN_HEADER } from '../api/wire.ts'
import type { Config } from '../server/config.ts'
import { UsageError } from '../server/usage-error.ts'
import { openKubeconfig, openUserClient, type UserFlags, userKubeconfig } from './user.ts'

/** A URL, or a Service behind the API server. */
export type ApiAddress = { readonly url: string } | { readonly namespace: string; readonly name: string }

/** `pawl api` does not answer, or is overloaded. */
export class ApiUnavailable extends Error {}

/** The user lacks a permission. */
export class ApiForbidden extends Error {}

/**
 * The ConfigMap in which the administrator names the Service. Every user may read this namespace, and tenants may not
 * write there.
 */
export const API_CONFIG_MAP = { namespace: 'kube-public', name: 'pawl-api' } as const

const MOST_BYTES = 256 * 1024 * 1024
const MOST_TRIES = 6
const AGAIN_MS = 500

/** The address in flags or variables. @param sign prefix of their names in errors: `--` or `$`. @throws UsageError */
export function apiAddressOf(
  url: string | undefined,
  service: string | undefined,
  sign: '--' | '$',
): ApiAddress | undefined {
  const [ofUrl, ofService] = sign === '--' ? ['--api-url', '--api-service'] : ['$PAWL_API_URL', '$PAWL_API_SERVICE']
  if (url !== undefined && service !== undefined)
    throw new UsageError(`${ofUrl} and ${ofService} exclude each other; set one of them`)
  if (url !== undefined) return { url: checkedUrl(url, ofUrl) }
  return service === undefined ? undefined : serviceIn(service, ofService)
}

function checkedUrl(text: string, source: string): string {
  const url = URL.parse(text)
  const isSafe =
    url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname.replace(/^\[|\]$/g, '')))
  // The message does not contain the URL, which may contain a password.
  if (url === null || !isSafe || url.username !== '' || url.search !== '')
    throw new UsageError(
      `${source}: the value is not a URL of pawl api; expected https://HOST, or http:// with a loopback address`,
    )
  return url.href.replace(/\/$/, '')
}

// Source: RFC 1123 labels, as Kubernetes requires for both.
const SERVICE = /^([a-z0-9][-a-z0-9]{0,62})\/([a-z0-9][-a-z0-9]{0,62})$/

function serviceIn(text: string, source: string): ApiAddress {
  const [, namespace, name] = SERVICE.exec(text) ?? []
  if (namespace === undefined || name === undefined)
    throw new UsageError(
      `${source}: found "${text.slice(0, 200)}"; expected namespace/name of a Service, such as pawl/pawl-api`,
    )
  return { namespace, name }
}

/** The Service in the administrator's ConfigMap (P1); undefined without ConfigMap or kubeconfig. */
export async function apiOfCluster(flags: UserFlags, config: Config): Promise<ApiAddress | undefined> {
  const kubeconfig = await userKubeconfig(flags, config).catch((error: unknown) => {
    if (error instanceof UsageError && flags.context === undefined && flags.kubeconfig === undefined) return undefined
    throw error
  })
  if (kubeconfig === undefined) return undefined
  const kube = await openKubeconfig(kubeconfig)
  try {
    const { namespace, name } = API_CONFIG_MAP
    const configMap = await kube.request<KubeObject>('GET', `/api/v1/namespaces/${namespace}/configmaps/${name}`)
    const { service } = (configMap['data'] ?? {}) as { readonly service?: string }
    return serviceIn(service ?? '', `service of ConfigMap ${namespace}/${name}`)
  } catch (error) {
    if (error instanceof KubeError && (error.status === 403 || error.status === 404)) return undefined
    throw error
  } finally {
    await kube.close()
  }
}

export function addressText(place: ApiAddress): string {
  return 'url' in place ? `pawl api at ${place.url}` : `pawl api by Service ${place.namespace}/${place.name}`
}

export interface OpenApi {
  readonly ask: (name: string, input: unknown) => Promise<unknown>
  /** The server's version and cluster, and the user as the server knows them. */
  readonly about: () => Promise<unknown>
  readonly close: () => Promise<void>
}

/** @throws UsageError if no kubeconfig is found. */
export async function openApi(place: ApiAddress, flags: UserFlags, config: Config): Promise<OpenApi> {
  const kube = 'url' in place ? await openAt(place.url, flags, config) : await openUserClient(flags, config)
  const root = 'url' in place ? '' : `/api/v1/namespaces/${place.namespace}/services/https:${place.name}:443/proxy`
  return {
    ask: async (name, input) => await requestWithRetry(kube, `${root}${ASK_PATH}${name}`, input, place),
    about: async () => await requestWithRetry(kube, `${root}${ABOUT_PATH}`, {}, place),
    close: async () => await kube.close(),
  }
}

/**
 * A client with the user's token for another address. The certificates of the kubeconfig's server do not apply to it.
 */
async function openAt(url: string, flags: UserFlags, config: Config): Promise<KubeClient> {
  const kubeconfig = JSON.parse(await userKubeconfig(flags, config)) as {
    readonly 'current-context': string
    readonly contexts: readonly { readonly name: string; readonly context?: { readonly user?: string } }[]
    readonly users: readonly { readonly name: string; readonly user?: Readonly<Record<string, unknown>> }[]
  }
  const current = kubeconfig.contexts.find(({ name }) => name === kubeconfig['current-context'])
  const contexts = [{ name: 'api', context: { cluster: 'api', user: current?.context?.user } }]
  // Plain HTTP has no certificate; the client must be configured to accept that.
  const isPlain = url.startsWith('http:')
  const clusters = [{ name: 'api', cluster: { server: url, ...(isPlain && { 'insecure-skip-tls-verify': true }) } }]
  const text = JSON.stringify({ ...kubeconfig, contexts, clusters, 'current-context': 'api' })
  return await openKubeconfig(text)
}

async function requestWithRetry(kube: KubeClient, path: string, body: unknown, place: ApiAddress): Promise<unknown> {
  for (let tries = 1; ; tries++) {
    try {
      return await kube.request('POST', path, { body, tokenHeader: TOKEN_HEADER, maxBodyBytes: MOST_BYTES })
    } catch (error) {
      if (!(error instanceof KubeError)) throw error
      if (error.status === 429 && tries < MOST_TRIES) await sleep(AGAIN_MS * tries)
      else throw toUserError(error, `POST ${path}: `, place)
    }
  }
}

const AWAY: ReadonlySet<number> = new Set([0, 429, 502, 503, 504])

function toUserError(error: KubeError, request: string, place: ApiAddress): Error {
  const text = `${addressText(place)}: ${error.message.replace(request, '')}`
  if (AWAY.has(error.status)) return new ApiUnavailable(text, { cause: error })
  if (error.status === 403) return new ApiForbidden(text, { cause: error })
  const hint = error.status === 401 ? '; use a kubeconfig whose user has a token, see docs/reference/commands.md' : ''
  return new Error(`${text}${hint}`, { cause: error })
}
