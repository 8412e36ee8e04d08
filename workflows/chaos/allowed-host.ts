// Hosts that Disruptions must not cut off, from the operators' configuration
// (`injector.networkDisruption.allowedHosts`), in both formats of the file. Source: spec/chaos.md 2.14, 3.2.

import { fieldsOf } from './json-fields.ts'
import { hostRule } from './host-rule.ts'

/** As in `spec.network.allowedHosts`. */
export interface AllowedHost {
  readonly host?: string
  readonly port?: number
  readonly protocol?: string
  readonly flow?: string
  readonly connState?: string
  readonly dnsResolver?: string
  readonly percentage?: number
}

/** The expected format of an entry, for error messages. */
export const EXPECTED_HOST = `${hostRule.expected}; or an object with these fields`

const TEXTS = ['host', 'protocol', 'flow', 'connState', 'dnsResolver'] as const
const NUMBERS = ['port', 'percentage'] as const
const FIELDS: ReadonlySet<string> = new Set([...TEXTS, ...NUMBERS])

/**
 * Reads an entry: chaos-controller's text `host;port;protocol;flow`, which may continue as the injector's flag does, or
 * an object.
 *
 * @returns undefined for an entry that is neither, or that no injector accepts.
 */
export function allowedHostIn(entry: unknown): AllowedHost | undefined {
  const found = typeof entry === 'string' ? hostOfText(entry) : hostOfObject(fieldsOf(entry))
  // An empty entry would allow everything.
  if (found === undefined || Object.keys(found).length === 0) return undefined
  return hostRule.reads(hostText(found)) === undefined ? undefined : found
}

function hostOfText(text: string): AllowedHost | undefined {
  const rule = hostRule.reads(text)
  if (rule === undefined) return undefined
  const given = text.split(';').map((part) => part.trim())
  const order = ['host', 'port', 'protocol', 'flow', 'connState', 'dnsResolver', 'percentage'] as const
  return Object.fromEntries(order.flatMap((field, at) => ((given[at] ?? '') === '' ? [] : [[field, rule[field]]])))
}

function hostOfObject(fields: Readonly<Record<string, unknown>>): AllowedHost | undefined {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && value !== '')
  const isOne = given.every(
    ([field, value]) =>
      FIELDS.has(field) && (among(NUMBERS, field) ? Number.isInteger(value) : typeof value === 'string'),
  )
  return isOne ? Object.fromEntries(given) : undefined
}

function among(names: readonly string[], name: string): boolean {
  return names.includes(name)
}

/** The host as a flag of the injector: `host;port;protocol;flow;connState;dnsResolver;percentage`. */
export function hostText(of: AllowedHost): string {
  const { host = '', port = 0, protocol = '', flow = '', connState = '', dnsResolver = '', percentage = 100 } = of
  return [host, port, protocol, flow, connState.toLowerCase(), dnsResolver, percentage].join(';')
}
