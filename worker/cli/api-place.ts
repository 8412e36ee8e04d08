// Where `pawl api` is, and how a person asks it: with the token of the kubeconfig, at an address, or through the API server.
//
//   P1. The token of a person goes nowhere but to the API server, to an address that the person has named, and to the Service that the person or the
//       cluster's administrator has named: in a namespace of any tenant there may be a Service of any name.
//   P2. Over an address beside the loopback it goes encrypted only.

import { setTimeout as sleep } from 'node:timers/promises'

import type { KubeClient, KubeObject } from '../../activities/kube/client.ts'
import { KubeError } from '../../activities/kube/kube-error.ts'
import { isLoopback } from '../api/flags.ts'
import { ABOUT_PATH, ASK_PATH, TOKEN_HEADER } from '../api/wire.ts'
import type { Config } from '../server/config.ts'
import { UsageError } from '../server/usage-error.ts'
import { openKubeconfig, openUserClient, type UserFlags, userKubeconfig } from './user.ts'

/** An address, or a Service behind the API server. */
export type ApiAddress = { readonly url: string } | { readonly namespace: string; readonly name: string }

/** `pawl api` does not answer, or not now. */
export class ApiUnavailable extends Error {}

/** The person may not ask this. */
export class ApiForbidden extends Error {}

/** In which the administrator says which Service it is: tenants write nothing in this namespace, and all may read this one. */
export const API_CONFIG_MAP = { namespace: 'kube-public', name: 'pawl-api' } as const

const MOST_BYTES = 256 * 1024 * 1024
const MOST_TRIES = 6
const AGAIN_MS = 500

/** What flags or variables say. @param sign before their names in errors: `--` or `$`. @throws UsageError */
export function apiAddressOf(
  url: string | undefined,
  service: string | undefined,
  sign: '--' | '$',
): ApiAddress | undefined {
  const [ofUrl, ofService] = sign === '--' ? ['--api-url', '--api-service'] : ['$PAWL_API_URL', '$PAWL_API_SERVICE']
  if (url !== undefined && service !== undefined)
    throw new UsageError(`found ${ofUrl} beside ${ofService}; expected one of them`)
  if (url !== undefined) return { url: checkedUrl(url, ofUrl) }
  return service === undefined ? undefined : serviceIn(service, ofService)
}

function checkedUrl(text: string, source: string): string {
  const url = URL.parse(text)
  const isSafe =
    url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname.replace(/^\[|\]$/g, '')))
  // Without what was found: an address may hold a password.
  if (url === null || !isSafe || url.username !== '' || url.search !== '')
    throw new UsageError(
      `${source} is no address of pawl api, expected https://HOST, or http:// on the loopback address`,
    )
  return url.href.replace(/\/$/, '')
}

// Source: RFC 1123 labels, as Kubernetes demands of both.
const SERVICE = /^([a-z0-9][-a-z0-9]{0,62})\/([a-z0-9][-a-z0-9]{0,62})$/

function serviceIn(text: string, source: string): ApiAddress {
  const [, namespace, name] = SERVICE.exec(text) ?? []
  if (namespace === undefined || name === undefined)
    throw new UsageError(
      `${source} is '${text.slice(0, 200)}', expected namespace/name of a Service, such as pawl/pawl-api`,
    )
  return { namespace, name }
}

/** The Service that the administrator of the cluster has named (P1); undefined where none is, or there is no kubeconfig. */
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
  /** What it says of itself and of the person. */
  readonly about: () => Promise<unknown>
  readonly close: () => Promise<void>
}

/** @throws UsageError where there is no kubeconfig. */
export async function openApi(place: ApiAddress, flags: UserFlags, config: Config): Promise<OpenApi> {
  const kube = 'url' in place ? await openAt(place.url, flags, config) : await openUserClient(flags, config)
  const root = 'url' in place ? '' : `/api/v1/namespaces/${place.namespace}/services/https:${place.name}:443/proxy`
  return {
    ask: async (name, input) => await requestWithRetry(kube, `${root}${ASK_PATH}${name}`, input, place),
    about: async () => await requestWithRetry(kube, `${root}${ABOUT_PATH}`, {}, place),
    close: async () => await kube.close(),
  }
}

/** The client of the person's kubeconfig, with another address: its token, and nothing of its server's certificates. */
async function openAt(url: string, flags: UserFlags, config: Config): Promise<KubeClient> {
  const kubeconfig = JSON.parse(await userKubeconfig(flags, config)) as {
    readonly 'current-context': string
    readonly contexts: readonly { readonly name: string; readonly context?: { readonly user?: string } }[]
    readonly users: readonly { readonly name: string; readonly user?: Readonly<Record<string, unknown>> }[]
  }
  const current = kubeconfig.contexts.find(({ name }) => name === kubeconfig['current-context'])
  const contexts = [{ name: 'api', context: { cluster: 'api', user: current?.context?.user } }]
  // Without TLS there is no certificate to look at; the client wants that said.
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
  const hint = error.status === 401 ? '; expected a kubeconfig whose user has a token, see docs/ask.md' : ''
  return new Error(`${text}${hint}`, { cause: error })
}
