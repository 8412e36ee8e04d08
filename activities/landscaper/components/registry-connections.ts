// Sends requests to registries that tenants name, with limits for time, size and destination, and follows redirects. Source: docs/concepts/security.md "Where
// registries lead".
//
//   N1. Each address is checked when the socket is opened, and plain HTTP requires an entry in the allow-list, as for Targets (address-rule.ts,
//       guarded-agent.ts).
//   N2. Credentials never follow a redirect to another origin.
//   N3. The size of each answer is limited; no message quotes an answer.

import { type Agent, request } from 'undici'
import { retryableFailure } from '../../kube/errors.ts'
import { readBody } from '../../kube/http-client.ts'
import type { AddressRule } from '../deploy/target/address-rule.ts'
import { createGuardedAgent, RefusedAddress } from '../deploy/target/guarded-agent.ts'
import { isUntrusted } from '../deploy/target/untrusted.ts'
import { BlueprintError } from '../render/render-errors.ts'

export interface RegistryRequest {
  readonly url: string
  /** PEM; undefined for the system's authorities. */
  readonly authority?: string | undefined
  readonly accept: string
  readonly authorization?: string | undefined
  /** Present for a POST request. */
  readonly form?: URLSearchParams
  /** Limit for the bytes of the answer. */
  readonly most: number
  readonly signal: AbortSignal
}

export interface RegistryAnswer {
  /** The origin that answered, which differs from the requested one after a redirect. */
  readonly origin: string
  readonly status: number
  /** Keys are lower-case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Empty unless the status is 200. */
  readonly bytes: Buffer
}

const IDLE_TIMEOUT_MS = 10_000
const MAX_REDIRECTS = 5
const MAX_AGENTS = 50
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308]
const RETRYABLE_STATUSES: readonly number[] = [408, 425, 429]

export class RegistryConnections {
  readonly #rule: AddressRule
  /** By origin and authority; the least recently used comes first. */
  readonly #agents = new Map<string, Agent>()

  constructor(rule: AddressRule) {
    this.#rule = rule
  }

  /**
   * Follows redirects. The caller handles answers with status 401, 403 and 404.
   *
   * @throws BlueprintError `RegistryNotAllowed`, `UntrustedServer`, `ERR_CONFIGURATION_PROBLEM` for an answer that is too long or invalid; retryable
   * `RegistryUnavailable`; the signal's reason.
   */
  async send(asked: RegistryRequest): Promise<RegistryAnswer> {
    let next = asked
    for (let turn = 0; turn <= MAX_REDIRECTS; turn += 1) {
      const answer = await this.#sendOnce(next)
      if (typeof answer !== 'string') return answer
      next = redirectedRequest(next, answer)
    }
    throw invalidAnswer(asked.url, `found more than ${MAX_REDIRECTS} redirects; expected fewer`)
  }

  async close(): Promise<void> {
    const agents = [...this.#agents.values()]
    this.#agents.clear()
    await Promise.all(agents.map((agent) => agent.destroy()))
  }

  /** @returns the location of a redirect, or the answer. */
  async #sendOnce(asked: RegistryRequest): Promise<RegistryAnswer | string> {
    const { url, accept, authorization, form, most, signal } = asked
    const { origin } = new URL(url)
    try {
      const { statusCode, headers, body } = await request(url, {
        method: form === undefined ? 'GET' : 'POST',
        headers: {
          accept,
          'user-agent': 'pawl',
          ...(authorization !== undefined && { authorization }),
          ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
        },
        ...(form !== undefined && { body: form.toString() }),
        dispatcher: this.#agentFor(asked),
        signal,
        headersTimeout: IDLE_TIMEOUT_MS,
        bodyTimeout: IDLE_TIMEOUT_MS,
      })
      if (statusCode === 200) {
        const excess = () => invalidAnswer(url, `found more than ${most} bytes; expected at most that`)
        return { origin, status: statusCode, headers, bytes: await readBody(body, most, excess) }
      }
      // The body of an error may be long, or quote the request.
      body.on('error', () => undefined).destroy()
      const { location } = headers
      if (REDIRECTS.includes(statusCode) && typeof location === 'string') return location
      if (statusCode >= 500 || RETRYABLE_STATUSES.includes(statusCode)) throw unavailable(url, `status ${statusCode}`)
      return { origin, status: statusCode, headers, bytes: Buffer.alloc(0) }
    } catch (error) {
      throw failureOf(error, asked)
    }
  }

  #agentFor({ url, authority }: RegistryRequest): Agent {
    const { origin } = new URL(url)
    const refusal = this.#rule.serverRefusal(origin)
    if (refusal !== undefined) throw new RefusedAddress(refusal)
    const key = `${origin} ${authority ?? ''}`
    const access = {
      server: origin,
      isInsecure: false,
      credentials: {},
      ...(authority !== undefined && { caData: Buffer.from(authority).toString('base64') }),
    }
    const agent =
      this.#agents.get(key) ?? createGuardedAgent(access, (address) => this.#rule.addressRefusal(origin, address))
    this.#agents.delete(key)
    this.#agents.set(key, agent)
    for (const [oldest, other] of this.#agents) {
      if (this.#agents.size <= MAX_AGENTS) break
      this.#agents.delete(oldest)
      // Pending requests of the agent are completed.
      other.close().catch(() => undefined)
    }
    return agent
  }
}

/** Implements N2. */
function redirectedRequest(asked: RegistryRequest, location: string): RegistryRequest {
  if (asked.form !== undefined || !URL.canParse(location, asked.url))
    throw invalidAnswer(asked.url, 'found a redirect without a valid address; expected content')
  const url = new URL(location, asked.url)
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw invalidAnswer(asked.url, `found a redirect to ${url.protocol.slice(0, 20)}; expected https`)
  url.username = url.password = ''
  if (url.origin === new URL(asked.url).origin) return { ...asked, url: url.href }
  return { ...asked, url: url.href, authorization: undefined, authority: undefined }
}

function failureOf(error: unknown, { url, signal }: RegistryRequest): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof BlueprintError) return error
  if (error instanceof RefusedAddress) return new BlueprintError('RegistryNotAllowed', `registry: ${error.message}`)
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (typeof code !== 'string') return error
  // Undici throws this for invalid headers: no other argument comes from a tenant.
  if (code === 'UND_ERR_INVALID_ARG')
    return invalidAnswer(url, 'found credentials with invalid characters; expected printable ASCII')
  const expected = 'add its authority to certificateAuthority in ocmConfig'
  if (isUntrusted(code))
    return new BlueprintError(
      'UntrustedServer',
      `${originOf(url)}: its certificate is not trusted (${code}); ${expected}`,
    )
  return unavailable(url, code)
}

/** The request may be retried. */
function unavailable(url: string, why: string): Error {
  return retryableFailure('RegistryUnavailable', `${originOf(url)}: no answer (${why}); Pawl retries`)
}

function invalidAnswer(url: string, problem: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', `${originOf(url)}: ${problem}`)
}

const originOf = (url: string) => `registry ${new URL(url).origin}`
