// Resolves services of clouds to the address ranges that AWS, Google and Datadog publish, each in its own format. Pure;
// activities/chaos/cloud/ downloads the lists. Source: spec/chaos.md 1.5 (`cloud`), 2.14 (`cloudProviders`).
//
// N1. Only IPv4 ranges are used: the injector disturbs nothing else (docs/reference/injector.md).
// N2. A range that a list repeats for several regions is used once.
// N3. Operators may add ranges (`extraIpRanges` of chaos-controller's chart), also to services that the list does not
//   contain.

import type { Problem } from '../kit/index.ts'
import type { Grammar } from './grammar.ts'
import { fieldsOf, listOf, textOf } from './json-fields.ts'
import { joinNames } from '../kit/index.ts'

export const CLOUDS = ['aws', 'gcp', 'datadog'] as const
export type Cloud = (typeof CLOUDS)[number]

/** Selects which packets are disturbed. */
interface PacketFilter {
  readonly protocol?: 'tcp' | 'udp' | ''
  readonly flow?: 'egress' | 'ingress' | ''
  readonly connState?: string
}

/** `spec.network.cloud` */
export type CloudServices = Partial<Readonly<Record<Cloud, readonly (PacketFilter & { readonly service: string })[]>>>

/** The same fields as in `spec.network.hosts`. */
export type CloudHost = PacketFilter & { readonly host: string }

/** Google's list has no service names; this one stands for the whole list. */
const GOOGLE = 'Google'

/** The ranges by service, in the order of the list. Empty if the document has another format. */
export function rangesIn(cloud: Cloud, document: unknown): ReadonlyMap<string, readonly string[]> {
  const ranges = new Map<string, Set<string>>()
  for (const [service, range] of PARSERS[cloud](document)) {
    if (!isRange(range)) continue
    const known = ranges.get(service) ?? new Set()
    // N2
    ranges.set(service, known.add(range))
  }
  return new Map([...ranges].map(([service, found]) => [service, [...found]]))
}

/** N1 */
function isRange(text: string): boolean {
  const [, address = '', bits = ''] = /^(\d{1,3}(?:\.\d{1,3}){3})\/(\d{1,2})$/.exec(text) ?? []
  return address !== '' && Number(bits) <= 32 && address.split('.').every((part) => Number(part) <= 255)
}

/** N3 */
export interface ExtraRanges {
  readonly service: string
  readonly ranges: readonly string[]
}

/** N3: parses an entry of the configuration, a service and its ranges. */
export const extraRanges: Grammar<ExtraRanges> = {
  parse(text) {
    const [service = '', ...ranges] = text.split(';').map((part) => part.trim())
    return service !== '' && ranges.length > 0 && ranges.every(isRange) ? { service, ranges } : undefined
  },
  expected: 'service;range with one or more ranges of IPv4, such as Google;199.36.153.8/30;199.36.153.4/30',
}

/** N2, N3 */
export function withExtraRanges(
  published: ReadonlyMap<string, readonly string[]>,
  extra: readonly ExtraRanges[],
): ReadonlyMap<string, readonly string[]> {
  const all = new Map(published)
  for (const { service, ranges } of extra) all.set(service, [...new Set([...(all.get(service) ?? []), ...ranges])])
  return all
}

type Published = Iterable<readonly [service: string, range: string]>

const PARSERS: Readonly<Record<Cloud, (document: unknown) => Published>> = {
  aws: (document) =>
    listOf(fieldsOf(document)['prefixes']).map((one) => {
      const { service, ip_prefix: range } = fieldsOf(one)
      return [textOf(service), textOf(range)]
    }),
  gcp: (document) => listOf(fieldsOf(document)['prefixes']).map((one) => [GOOGLE, textOf(fieldsOf(one)['ipv4Prefix'])]),
  datadog: (document) =>
    Object.entries(fieldsOf(document)).flatMap(([service, one]) =>
      listOf(fieldsOf(one)['prefixes_ipv4']).map((range) => [service, textOf(range)] as const),
    ),
}

/** The clouds with at least one service. */
export function cloudsIn(cloud: CloudServices | undefined): readonly Cloud[] {
  return CLOUDS.filter((name) => (cloud?.[name] ?? []).length > 0)
}

export function hasCloud(cloud: CloudServices | undefined): boolean {
  return cloudsIn(cloud).length > 0
}

export type CloudHosts = { readonly hosts: readonly CloudHost[] } | { readonly problem: Problem }

/**
 * Resolves the services to hosts, or reports the problem.
 *
 * @param published the ranges of each named cloud. @param most the maximum number of hosts.
 */
export function cloudHosts(
  services: CloudServices,
  published: ReadonlyMap<Cloud, ReadonlyMap<string, readonly string[]>>,
  most: number,
): CloudHosts {
  const hosts: CloudHost[] = []
  for (const cloud of cloudsIn(services))
    for (const [index, { service, protocol, flow, connState }] of (services[cloud] ?? []).entries()) {
      const known = published.get(cloud)
      const ranges = known?.get(service)
      if (ranges === undefined)
        return {
          problem: {
            field: `spec.network.cloud.${cloud}[${index}].service`,
            found: JSON.stringify(service),
            expected: `one of ${joinNames([...(known?.keys() ?? [])], MAX_NAMED)}`,
          },
        }
      if (hosts.length + ranges.length > most)
        return {
          problem: {
            field: 'spec.network.cloud',
            found: `services of more than ${most} addresses`,
            expected: `at most ${most}, together with hosts and Services`,
          },
        }
      const how = {
        ...(protocol !== undefined && { protocol }),
        ...(flow !== undefined && { flow }),
        ...(connState !== undefined && { connState }),
      }
      hosts.push(...ranges.map((host) => ({ host, ...how })))
    }
  return { hosts }
}

const MAX_NAMED = 40
