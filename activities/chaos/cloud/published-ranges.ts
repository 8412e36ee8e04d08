// The lists of addresses that clouds publish, asked for when somebody wants one, and kept. Source: spec/chaos.md 2.14 (`cloudProviders`).
//
//   R1. A list that cannot be had anew is used as it was: addresses change seldom, and a Disruption that is to begin does not wait for it. That is logged.
//   R2. Who waits for the same list waits for one request. That one is nobody's: it is not given up because one of them is.
//   R3. After a failure nobody asks for a while: a webhook that waited for each of its questions would be given up, and refuse what it is to warn of.

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

/** Less than a webhook is waited for. */
const REQUEST_MS = 5000
const REST_MS = 10_000
/** The longest of them has two. */
const MOST_BYTES = 32 * 1024 * 1024

export type Ranges = ReadonlyMap<string, readonly string[]>

/** Why there is no list: for people, without the URL, which may have credentials. */
export class NoRanges extends Error {}

interface Needs {
  readonly config: ChaosConfig['cloudProviders']
  readonly now: () => number
  readonly warn: (details: object, message: string) => void
}

interface Kept {
  readonly ranges: Ranges
  readonly atMs: number
}

interface Failed {
  readonly error: unknown
  readonly atMs: number
}

export class PublishedRanges {
  readonly #needs: Needs
  readonly #kept = new Map<Cloud, Kept>()
  readonly #failed = new Map<Cloud, Failed>()
  readonly #asking = new Map<Cloud, Promise<Ranges>>()

  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** By service. @throws NoRanges */
  async of(cloud: Cloud): Promise<Ranges> {
    const { config, now, warn } = this.#needs
    const url = config.urls[cloud]
    if (url === undefined) throw new NoRanges(`the addresses of ${cloud} are not known: cloudProviders.${cloud} is off`)
    const kept = this.#kept.get(cloud)
    if (kept !== undefined && now() - kept.atMs < config.pullIntervalMs) return kept.ranges
    const failed = this.#failed.get(cloud)
    // R3
    if (failed !== undefined && now() - failed.atMs < REST_MS) return usable(kept, failed.error)
    try {
      return await this.#ask(cloud, url)
    } catch (error) {
      this.#failed.set(cloud, { error, atMs: now() })
      // R1
      if (kept !== undefined)
        warn({ cloud, error: String(error), since: new Date(kept.atMs) }, 'addresses of a cloud are used as they were')
      return usable(kept, error)
    }
  }

  /** @throws NoRanges */
  async hostsOf(services: CloudServices): Promise<CloudHosts> {
    const { extraRanges } = this.#needs.config
    const lists = await Promise.all(
      cloudsIn(services).map(
        async (cloud) => [cloud, withExtraRanges(await this.of(cloud), extraRanges[cloud] ?? [])] as const,
      ),
    )
    return cloudHosts(services, new Map(lists), MAX_FILTERS)
  }

  /** R2 */
  async #ask(cloud: Cloud, url: string): Promise<Ranges> {
    const going = this.#asking.get(cloud)
    if (going !== undefined) return await going
    const asked = fetched(cloud, url)
    this.#asking.set(cloud, asked)
    try {
      const ranges = await asked
      this.#kept.set(cloud, { ranges, atMs: this.#needs.now() })
      return ranges
    } finally {
      this.#asking.delete(cloud)
    }
  }
}

/** @throws what it met, where nothing is kept. */
function usable(kept: Kept | undefined, error: unknown): Ranges {
  if (kept === undefined) throw error
  return kept.ranges
}

async function fetched(cloud: Cloud, url: string): Promise<Ranges> {
  const where = `cloudProviders.${cloud}.ipRangesURL at ${new URL(url).host}`
  let document: unknown
  try {
    const answer = await request(url, { signal: AbortSignal.timeout(REQUEST_MS) })
    if (answer.statusCode !== 200) {
      await answer.body.dump()
      throw new NoRanges(`${where} answers ${answer.statusCode}, expected 200`)
    }
    const excess = () => new RangeError(`more than ${MOST_BYTES} bytes`)
    document = JSON.parse((await readBody(answer.body, MOST_BYTES, excess)).toString('utf8'))
  } catch (error) {
    if (error instanceof NoRanges) throw error
    const { name, code = name } = error as { readonly name?: string; readonly code?: string }
    throw new NoRanges(`${where} gives no list: ${code ?? 'unknown'}`, { cause: error })
  }
  const ranges = rangesIn(cloud, document)
  if (ranges.size === 0) throw new NoRanges(`${where} gives no list of the form that ${cloud} publishes`)
  return ranges
}
