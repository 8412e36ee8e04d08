// Parses the values of the flags `--target-allow` and `--default-context-repository`. Pure.
//
// An entry of `--target-allow` is a destination that Targets may use although the default rules forbid it (docs/concepts/security.md "Where Targets lead").

import { readJson, writeJson } from '../kit/index.ts'

/** A server by the host name in kubeconfigs, on one port or on all; or all servers with these addresses. */
export type ListedServer =
  | { readonly host: string; readonly port: number | undefined }
  | { readonly address: string; readonly prefix: number; readonly family: 'ipv4' | 'ipv6' }

/** The expected form of an entry, for messages. */
export const LISTED_SERVER_FORM = 'a host such as 10.0.0.5:8080 or [::1]:6443, or addresses such as 127.0.0.0/8'

/** Undefined for an invalid text. Hosts have the form of URLs: lower case, IPv6 in brackets. */
export function readListedServer(text: string): ListedServer | undefined {
  const [, address, prefix] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? []
  return address === undefined ? readServer(text) : readAddresses(address, Number(prefix))
}

function readAddresses(address: string, prefix: number): ListedServer | undefined {
  const family = familyOf(address)
  if (family === undefined || prefix > (family === 'ipv4' ? 32 : 128)) return undefined
  return { address, prefix, family }
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  if (hostOf(address) === address && IPV4.test(address)) return 'ipv4'
  return isIpv6(address) ? 'ipv6' : undefined
}

const IPV4 = /^\d+\.\d+\.\d+\.\d+$/
const isIpv6 = (text: string) => /^[\da-f:.]*:[\da-f:.]*:[\da-f:.]*$/i.test(text) && URL.canParse(`https://[${text}]`)

function readServer(text: string): ListedServer | undefined {
  if (isIpv6(text)) return { host: hostOf(`[${text}]`) ?? text, port: undefined }
  const [, name = '', digits] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text) ?? []
  const host = /^[\w.-]+$|^\[[\da-f:.]+\]$/i.test(name) ? hostOf(name) : undefined
  const port = digits === undefined ? undefined : Number(digits)
  return host === undefined || port === 0 || (port ?? 1) > MOST_PORT ? undefined : { host, port }
}

const MOST_PORT = 65_535

// Normalizes like the URL of a kubeconfig, so that both can be compared: 127.1 becomes 127.0.0.1.
function hostOf(name: string): string | undefined {
  return URL.canParse(`https://${name}`) ? new URL(`https://${name}`).hostname : undefined
}

// Parses the value of `--default-context-repository`: the repository context of Contexts, as JSON. Pure.

export type RepositoryFields = Readonly<Record<string, unknown>>

/** The expected form, for messages. */
export const REPOSITORY_FORM = 'a repository context in JSON, such as {"type":"OCIRegistry","baseUrl":"ghcr.io/acme"}'

/** Undefined for an invalid text. */
export function readRepositoryContext(text: string): RepositoryFields | undefined {
  try {
    const value: unknown = readJson(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject && typeof (value as RepositoryFields)['type'] === 'string' ? (value as RepositoryFields) : undefined
  } catch {
    return undefined
  }
}

/** The merge patch that turns `found` into `wanted`, with null for surplus fields; undefined if both are equal. */
export function replacementPatch(found: unknown, wanted: RepositoryFields): RepositoryFields | undefined {
  if (typeof found !== 'object' || found === null || Array.isArray(found)) return wanted
  const before = found as RepositoryFields
  const changes = Object.entries(wanted).flatMap(([key, value]): [string, unknown][] => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return writeJson(before[key]) === writeJson(value) ? [] : [[key, value]]
    const change = replacementPatch(before[key], value as RepositoryFields)
    return change === undefined ? [] : [[key, change]]
  })
  const surplus = Object.keys(before).filter((key) => !Object.hasOwn(wanted, key))
  const all = [...changes, ...surplus.map((key): [string, unknown] => [key, null])]
  return all.length === 0 ? undefined : Object.fromEntries(all)
}
