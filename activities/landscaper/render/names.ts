// Names and labels of the objects that belong to an Installation. Source: spec/landscaper.md 1.13 and 1.15.

import { createHash } from 'node:crypto'

const DATA_DOMAIN = 'data.landscaper.gardener.cloud'
const DNS_SUBDOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/
const DNS_SUBDOMAIN_MAX = 253
const BASE32_ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'
const BASE32_BITS = 5

/** The scope of objects outside of any Installation. */
export const ROOT_CONTEXT = ''

/** The scope inside an Installation. */
export function installationContext(name: string): string {
  return `Inst.${name}`
}

/** The scope of an Installation's imports and exports. @param parent its name; undefined for a root. */
export function surroundingContext(parent: string | undefined): string {
  return parent === undefined ? ROOT_CONTEXT : installationContext(parent)
}

/** The scope of an Execution's exports. */
export function executionContext(name: string): string {
  return `Exec.${name}`
}

/**
 * The object name of a DataObject or Target for a name in a scope. `#x` is the object `x` in any scope. A valid object name in the root scope is used
 * unchanged; any other name is hashed.
 */
export function dataObjectName(context: string, name: string): string {
  if (name.startsWith('#')) return name.slice(1)
  if (context === ROOT_CONTEXT && name.length <= DNS_SUBDOMAIN_MAX && DNS_SUBDOMAIN.test(name)) return name
  return hashedName(`${context}/${name}`)
}

/** The name of an element of an imported target list or target map, before it is hashed. */
export function elementName(name: string, element: number | string): string {
  return `${name}[${element}]`
}

/** The Secret with the state of an execution. Deploy and sub-installation executions share a prefix, as in Landscaper. */
export function stateSecretName(installation: string, use: 'deploy' | 'export', executor: string): string {
  return hashedName(`${installation}/${use}${executor}`)
}

export interface DataLabels {
  readonly context: string
  /** The name of the import or export; empty for an Execution's exports. */
  readonly key: string
  readonly sourceType: 'import' | 'export'
  /** The producer, `Inst.<name>` or `Exec.<name>`. */
  readonly source?: string
  readonly jobID?: string
}

/** The labels of a DataObject or Target that Pawl writes. */
export function dataLabels({ context, key, sourceType, source, jobID }: DataLabels): Record<string, string> {
  return {
    // Absent for roots, as in Landscaper.
    ...(context === ROOT_CONTEXT ? {} : { [`${DATA_DOMAIN}/context`]: context }),
    [`${DATA_DOMAIN}/sourceType`]: sourceType,
    [`${DATA_DOMAIN}/key`]: key,
    ...(source === undefined ? {} : { [`${DATA_DOMAIN}/source`]: source }),
    ...(jobID === undefined ? {} : { [`${DATA_DOMAIN}/jobid`]: jobID }),
  }
}

function hashedName(text: string): string {
  return base32(createHash('sha1').update(text).digest())
}

/** Lower-case and without padding, because the result is an object name. */
function base32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  const groups = bits.match(new RegExp(`.{1,${BASE32_BITS}}`, 'g')) ?? []
  return groups.map((group) => BASE32_ALPHABET[parseInt(group.padEnd(BASE32_BITS, '0'), 2)]).join('')
}
