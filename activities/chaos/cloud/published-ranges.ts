// Downloads and caches the address lists of clouds on demand. Source: spec/chaos.md 2.14 (`cloudProviders`).
//
// R1. If a download fails, the cached list is used and a warning is logged: addresses change rarely, and a starting
//   Disruption must not wait.
// R2. Concurrent callers share one request, which continues if one of them gives up.
// R3. After a failure no request is sent for some time: a webhook that waits for every request would time out and
//   reject what it should only warn about.

import { request } from 'undici'

import {
  type Cloud,
  type CloudHosts,
  cloudHosts,
  type CloudServices,
  cloudsIn,
  rangesIn,
  withExtraRanges,
} from '../../../workflows/chaos/cloud.ts'
import { MAX_FILTERS } from '../../../workflows/chaos/disruption/schema/network.ts'
import type { ChaosConfig } from '../../../workflows/chaos/config.ts'
import { readBody } from '../../kube/http-client.ts'

/** Less than a webhook's timeout. */
const REQUEST_MS = 5000
const RETRY_AFTER_MS = 10_000
/** The longest list has two MiB. */
const MAX_BYTES = 32 * 1024 * 1024

export type Ranges = ReadonlyMap<string, readonly string[]>

/** The list is unavailable. The message does not contain the URL, which may have credentials. */
export class RangesUnavailable extends Error {}

interface RangesDeps {
  readonly config: ChaosConfig['cloudProviders']
  readonly now: () => number
  readonly warn: (details: object, message: string) => void
}

interface CachedRanges {
  readonly ranges: Ranges
  readonly atMs: number
}

interface Failed {
  readonly error: unknown
  readonly atMs: number
}

export class PublishedRanges {
  readonly #deps: RangesDeps
  readonly #cache = new Map<Cloud, CachedRanges>()
  readonly #failed = new Map<Cloud, Failed>()
  readonly #requests = new Map<Cloud, Promise<Ranges>>()

  constructor(deps: RangesDeps) {
    this.#deps = deps
  }

  /** The ranges by service. @throws NoRanges */
  async of(cloud: Cloud): Promise<Ranges> {
    const { config, now, warn } = this.#deps
    const url = config.urls[cloud]
    if (url === undefined)
      throw new RangesUnavailable(
        `cloudProviders.${cloud}: it is off, so the addresses of ${cloud} are unknown; turn it on`,
      )
    const cached = this.#cache.get(cloud)
    if (cached !== undefined && now() - cached.atMs < config.pullIntervalMs) return cached.ranges
    const failed = this.#failed.get(cloud)
    // R3
    if (failed !== undefined && now() - failed.atMs < RETRY_AFTER_MS) return cachedOrThrow(cached, failed.error)
    try {
      return await this.#download(cloud, url)
    } catch (error) {
      this.#failed.set(cloud, { error, atMs: now() })
      // R1
      if (cached !== undefined)
        warn(
          { cloud, error: String(error), since: new Date(cached.atMs) },
          'the published addresses of a cloud could not be read; the previous ones are used',
        )
      return cachedOrThrow(cached, error)
    }
  }

  /** @throws NoRanges */
  async hostsOf(services: CloudServices): Promise<CloudHosts> {
    const { extraRanges } = this.#deps.config
    const lists = await Promise.all(
      cloudsIn(services).map(
        async (cloud) => [cloud, withExtraRanges(await this.of(cloud), extraRanges[cloud] ?? [])] as const,
      ),
    )
    return cloudHosts(services, new Map(lists), MAX_FILTERS)
  }

  /** R2 */
  async #download(cloud: Cloud, url: string): Promise<Ranges> {
    const pending = this.#requests.get(cloud)
    if (pending !== undefined) return await pending
    const request = download(cloud, url)
    this.#requests.set(cloud, request)
    try {
      const ranges = await request
      this.#cache.set(cloud, { ranges, atMs: this.#deps.now() })
      return ranges
    } finally {
      this.#requests.delete(cloud)
    }
  }
}

/** @throws the error if nothing is cached. */
function cachedOrThrow(cached: CachedRanges | undefined, error: unknown): Ranges {
  if (cached === undefined) throw error
  return cached.ranges
}

async function download(cloud: Cloud, url: string): Promise<Ranges> {
  const where = `cloudProviders.${cloud}.ipRangesURL at ${new URL(url).host}`
  let document: unknown
  try {
    const answer = await request(url, { signal: AbortSignal.timeout(REQUEST_MS) })
    if (answer.statusCode !== 200) {
      await answer.body.dump()
      throw new RangesUnavailable(`${where} answers ${answer.statusCode}; expected 200`)
    }
    const excess = () => new RangeError(`more than ${MAX_BYTES} bytes`)
    document = JSON.parse((await readBody(answer.body, MAX_BYTES, excess)).toString('utf8'))
  } catch (error) {
    if (error instanceof RangesUnavailable) throw error
    const { name, code = name } = error as { readonly name?: string; readonly code?: string }
    throw new RangesUnavailable(`${where} cannot be read: ${code ?? 'unknown error'}`, { cause: error })
  }
  const ranges = rangesIn(cloud, document)
  if (ranges.size === 0) throw new RangesUnavailable(`${where} returns no list in the format of ${cloud}`)
  return ranges
}
