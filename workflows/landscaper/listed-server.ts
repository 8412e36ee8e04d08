// Parses one entry of `--target-allow`: a destination that Targets may use although the default rules forbid it (docs/security.md "Where Targets
// lead"). Pure.

/** A server by the host name in kubeconfigs, on one port or on all; or all servers with these addresses. */
export type ListedServer =
  | { readonly host: string; readonly port: number | undefined }
  | { readonly address: string; readonly prefix: number; readonly family: 'ipv4' | 'ipv6' }

/** The expected form of an entry, for messages. */
export const LISTED_SERVER = 'a host such as 10.0.0.5:8080 or [::1]:6443, or addresses such as 127.0.0.0/8'

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
