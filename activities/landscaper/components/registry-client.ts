// Reads manifests and blobs from OCI registries. Source: OCI distribution spec 1.1 "Pull"; distribution's token authentication specification.
//
//   A1. No content is trusted: its digest must be the requested one, or for a tag the one that the registry states.
//   A2. A token is requested for pulling from this repository only, whatever scope the registry requests.
//   A3. A token that was issued for one credential is never used with another.
//   A4. Only a challenge of the registry itself is answered with credentials, never one of a redirect's target (compare CVE-2020-15157).

import { readJson, writeJson, isFields } from '../../../workflows/kit/index.ts'
import { createHash } from 'node:crypto'
import { BlueprintError } from '../render/render-errors.ts'
import { isDigest, type OciRepository } from './oci-names.ts'
import type { RegistryAnswer, RegistryConnections, RegistryRequest } from './registry-connections.ts'
import { keyOfCredential, type RegistryCredential } from './registry-credentials.ts'

export interface RegistryObject {
  readonly repository: OciRepository
  readonly kind: 'manifests' | 'blobs'
  /** A digest, or a tag of a manifest. */
  readonly reference: string
  readonly credential: RegistryCredential | undefined
  readonly most: number
}

interface CachedAuthorization {
  readonly header: string
  /** In epoch milliseconds. */
  readonly untilMs: number
}

const MANIFEST_TYPES = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
  'application/vnd.oci.image.index.v1+json',
]
const MAX_TOKEN_BYTES = 64 * 1024
const MAX_AUTHORIZATIONS = 1000
/** Source: the token specification, for answers without a lifetime. */
const DEFAULT_LIFETIME_S = 60
const MAX_LIFETIME_S = 300

export class RegistryClient {
  readonly #connections: RegistryConnections
  readonly #now: () => Date
  /** By repository and credential (A3). */
  readonly #authorizations = new Map<string, CachedAuthorization>()

  constructor(connections: RegistryConnections, now: () => Date) {
    this.#connections = connections
    this.#now = now
  }

  /** @throws BlueprintError `ComponentNotFound`, `RegistryDenied`, `UntrustedContent`, and as RegistryConnections; retryable failures. */
  async read(asked: RegistryObject, signal: AbortSignal): Promise<Buffer> {
    const answer = await this.#send(asked, signal)
    if (answer.status === 200) return verifyDigest(asked, answer)
    const what = titleOf(asked)
    if (answer.status === 404)
      throw new BlueprintError(
        'ComponentNotFound',
        `${what} does not exist in the registry; correct the name or version, or push it`,
      )
    if (answer.status === 401 || answer.status === 403) throw denied(asked, answer.status)
    throw invalid(`${what}: found status ${answer.status}; expected 200`)
  }

  async #send(asked: RegistryObject, signal: AbortSignal): Promise<RegistryAnswer> {
    const { repository, kind, reference, credential, most } = asked
    const { registryToken, authority } = credential ?? {}
    const known = registryToken === undefined ? this.#cachedHeader(asked) : `Bearer ${registryToken}`
    const send = (authorization: string | undefined) =>
      this.#connections.send({
        url: `${repository.origin}/v2/${repository.path}/${kind}/${reference}`,
        authority,
        authorization,
        most,
        signal,
        accept: kind === 'manifests' ? MANIFEST_TYPES.join(', ') : '*/*',
      })
    const answer = await send(known)
    // Implements A4.
    if (answer.status !== 401 || answer.origin !== repository.origin || registryToken !== undefined) return answer
    const header = await this.#authorize(asked, answer, signal)
    return header === undefined ? answer : await send(header)
  }

  #cachedHeader({ repository, credential }: RegistryObject): string | undefined {
    const cached = this.#authorizations.get(keyOf(repository, credential))
    return cached !== undefined && cached.untilMs > this.#now().getTime() ? cached.header : undefined
  }

  #cache({ repository, credential }: RegistryObject, header: string, lifeS: number): void {
    const key = keyOf(repository, credential)
    this.#authorizations.delete(key)
    this.#authorizations.set(key, { header, untilMs: this.#now().getTime() + Math.min(lifeS, MAX_LIFETIME_S) * 1000 })
    for (const oldest of this.#authorizations.keys()) {
      if (this.#authorizations.size <= MAX_AUTHORIZATIONS) break
      this.#authorizations.delete(oldest)
    }
  }

  /** The authorization that the registry requests; undefined without a suitable credential. */
  async #authorize(asked: RegistryObject, answer: RegistryAnswer, signal: AbortSignal): Promise<string | undefined> {
    const challenge = challengeIn(answer.headers['www-authenticate'])
    const basic = basicOf(asked.credential)
    if (challenge?.scheme === 'basic') {
      if (basic !== undefined) this.#cache(asked, basic, MAX_LIFETIME_S)
      return basic
    }
    const realm = challenge?.scheme === 'bearer' ? challenge.parameters['realm'] : undefined
    if (realm === undefined || !/^https?:/i.test(realm) || !URL.canParse(realm)) return undefined
    return await this.#requestToken({ asked, realm, service: challenge?.parameters['service'], basic, signal })
  }

  async #requestToken(exchange: TokenExchange): Promise<string> {
    const { asked } = exchange
    const token = await this.#connections.send(tokenRequest(exchange))
    if (token.status >= 400 && token.status < 404) throw denied(asked, token.status)
    if (token.status !== 200) throw invalid(`${titleOf(asked)}: found status ${token.status} for a token; expected 200`)
    const { header, lifeS } = tokenIn(token.bytes, asked)
    this.#cache(asked, header, lifeS)
    return header
  }
}

function keyOf({ origin, path }: OciRepository, credential: RegistryCredential | undefined): string {
  return writeJson([origin, path, keyOfCredential(credential)])
}

function basicOf(credential: RegistryCredential | undefined): string | undefined {
  const { username, password = '' } = credential ?? {}
  if (username === undefined) return undefined
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

interface Challenge {
  readonly scheme: string
  readonly parameters: Readonly<Record<string, string>>
}

/** Parses `Bearer realm="https://auth.example/token",service="registry.example"`. */
function challengeIn(header: string | string[] | undefined): Challenge | undefined {
  const text = (Array.isArray(header) ? header[0] : header)?.slice(0, 4096) ?? ''
  const [, scheme, rest = ''] = /^\s*(\w+)\s+(.*)$/s.exec(text) ?? []
  if (scheme === undefined) return undefined
  const found = [...rest.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name.toLowerCase(), value])
  return { scheme: scheme.toLowerCase(), parameters: Object.fromEntries(found) as Record<string, string> }
}

interface TokenExchange {
  readonly asked: RegistryObject
  readonly realm: string
  readonly service: string | undefined
  readonly basic: string | undefined
  readonly signal: AbortSignal
}

function tokenRequest({ asked, realm, service, basic, signal }: TokenExchange): RegistryRequest {
  const { repository, credential } = asked
  const url = new URL(realm)
  const isOwn = url.origin === repository.origin
  const common = {
    accept: 'application/json',
    most: MAX_TOKEN_BYTES,
    signal,
    authority: isOwn ? credential?.authority : undefined,
  }
  // Implements A2.
  const parameters = { ...(service !== undefined && { service }), scope: `repository:${repository.path}:pull` }
  const { identityToken } = credential ?? {}
  if (identityToken !== undefined) {
    const refresh = { grant_type: 'refresh_token', refresh_token: identityToken, client_id: 'pawl' }
    return { ...common, url: url.href, form: new URLSearchParams({ ...parameters, ...refresh }) }
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return { ...common, url: url.href, authorization: basic }
}

function tokenIn(bytes: Buffer, asked: RegistryObject): { readonly header: string; readonly lifeS: number } {
  const answer = jsonOf(bytes)
  const fields = isFields(answer) ? answer : {}
  const token = fields['token'] ?? fields['access_token']
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))
    throw invalid(`${titleOf(asked)}: the token server returned no token; correct the credentials`)
  const life = Number(fields['expires_in'] ?? DEFAULT_LIFETIME_S)
  // A few seconds may pass until the token is used.
  return { header: `Bearer ${token}`, lifeS: Number.isFinite(life) ? Math.max(life - 5, 0) : 0 }
}

export function jsonOf(bytes: Buffer): unknown {
  try {
    return readJson(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}

/** Implements A1. */
function verifyDigest(asked: RegistryObject, { bytes, headers }: RegistryAnswer): Buffer {
  const stated = headers['docker-content-digest']
  const wanted = isDigest(asked.reference) ? asked.reference : stated
  if (typeof wanted !== 'string') return bytes
  const [algorithm = ''] = wanted.split(':')
  const found = isDigest(wanted) ? `${algorithm}:${createHash(algorithm).update(bytes).digest('hex')}` : ''
  if (found === wanted) return bytes
  const message = `${titleOf(asked)}: found content with the digest ${found}; expected ${wanted.slice(0, 200)}`
  throw new BlueprintError('UntrustedContent', message)
}

/** For example `ghcr.io/acme/component-descriptors/example.com/shop:1.2.0`. */
export function titleOf({ repository, reference }: Pick<RegistryObject, 'repository' | 'reference'>): string {
  const { origin, path } = repository
  return `${origin.replace(/^https:\/\//, '')}/${path}${isDigest(reference) ? '@' : ':'}${reference}`
}

function denied(asked: RegistryObject, status: number): BlueprintError {
  const sent = asked.credential === undefined ? 'without credentials' : 'with the configured credentials'
  const expected = 'add credentials with pull rights to registryPullSecrets or ocmConfig of the Context'
  return new BlueprintError(
    'RegistryDenied',
    `${titleOf(asked)}: the registry denies access ${sent} (${status}); ${expected}`,
  )
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}
