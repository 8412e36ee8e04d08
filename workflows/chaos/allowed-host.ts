// Hosts that Disruptions must not cut off, from the operators' configuration
// (`injector.networkDisruption.allowedHosts`), in both formats of the file. Source: spec/chaos.md 2.14, 3.2.

import { fieldsOf } from './json-fields.ts'
import { hostRule } from './host-rule.ts'

/** An entry of `spec.network.allowedHosts`. */
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

/** In the order of the text form. */
const FIELDS = ['host', 'port', 'protocol', 'flow', 'connState', 'dnsResolver', 'percentage'] as const
const FIELD_NAMES: ReadonlySet<string> = new Set(FIELDS)
const NUMBER_FIELDS: ReadonlySet<string> = new Set(['port', 'percentage'])

/**
 * Reads an entry: an object, or chaos-controller's text `host;port;protocol;flow`, which may have the further parts of
 * `hostText`.
 *
 * @returns undefined for an entry that is neither, that is empty, or that the injector's flag does not accept.
 */
export function allowedHostIn(entry: unknown): AllowedHost | undefined {
  const found = typeof entry === 'string' ? hostOfText(entry) : hostOfObject(fieldsOf(entry))
  // An empty entry would allow everything.
  if (found === undefined || Object.keys(found).length === 0) return undefined
  return hostRule.parse(hostText(found)) === undefined ? undefined : found
}

function hostOfText(text: string): AllowedHost | undefined {
  const rule = hostRule.parse(text)
  if (rule === undefined) return undefined
  const given = text.split(';').map((part) => part.trim())
  return Object.fromEntries(
    FIELDS.flatMap((field, index) => ((given[index] ?? '') === '' ? [] : [[field, rule[field]]])),
  )
}

function hostOfObject(fields: Readonly<Record<string, unknown>>): AllowedHost | undefined {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && value !== '')
  const isHost = given.every(
    ([field, value]) =>
      FIELD_NAMES.has(field) && (NUMBER_FIELDS.has(field) ? Number.isInteger(value) : typeof value === 'string'),
  )
  return isHost ? Object.fromEntries(given) : undefined
}

/** The host as a flag of the injector: `host;port;protocol;flow;connState;dnsResolver;percentage`. */
export function hostText(allowed: AllowedHost): string {
  const { host = '', port = 0, protocol = '', flow = '', connState = '', dnsResolver = '', percentage = 100 } = allowed
  return [host, port, protocol, flow, connState.toLowerCase(), dnsResolver, percentage].join(';')
}
