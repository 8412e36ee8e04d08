// Connection strings: `description:id@address,address`. Source: spec/foundationdb.md 1.4, 6.7.

import { sha256 } from '../../kit/index.ts'
import { parseAddress } from './process-address.ts'

export interface ConnectionString {
  readonly description: string
  readonly id: string
  /** Addresses of the coordinators, in order. */
  readonly coordinators: readonly string[]
}

const DESCRIPTION = /^[A-Za-z0-9_]+$/
const ID = /^[A-Za-z0-9]+$/

/** @throws a plain Error that names the part, the text found and the text expected. */
export function parseConnectionString(text: string): ConnectionString {
  const [head = '', ...tails] = text.split('@')
  const [description = '', ...ids] = head.split(':')
  const [id = ''] = ids
  if (tails.length !== 1 || ids.length !== 1) throw invalid('text', text, 'description:id@address,address')
  if (!DESCRIPTION.test(description)) throw invalid('description', description, 'letters, digits and _')
  if (!ID.test(id)) throw invalid('id', id, 'letters and digits')
  const coordinators = (tails[0] ?? '').split(',')
  const wrong = coordinators.find((address) => parseAddress(address)?.port === undefined)
  if (wrong !== undefined) throw invalid('coordinators', wrong, 'addresses such as 10.0.0.1:4501, separated by commas')
  return { description, id, coordinators }
}

export function formatConnectionString({ description, id, coordinators }: ConnectionString): string {
  return `${description}:${id}@${coordinators.join(',')}`
}

/** Whether two connection strings have the same coordinators, in any order. */
export function hasSameCoordinators(one: ConnectionString, other: ConnectionString): boolean {
  return [...one.coordinators].sort().join() === [...other.coordinators].sort().join()
}

/** The description of a cluster's database: characters that a description cannot have become `_`. */
export function descriptionFor(clusterName: string): string {
  return clusterName.replaceAll(/[^A-Za-z0-9_]/g, '_')
}

const ID_LENGTH = 32

/** The ID of a new coordinator set. A repeated pass gets the same ID. @param seed such as the UID of the cluster. */
export function connectionIDFrom(seed: string): string {
  return sha256(seed).slice(0, ID_LENGTH)
}

function invalid(part: string, found: string, expected: string): Error {
  return new Error(`connection string: ${part}: found ${JSON.stringify(found)}; expected ${expected}`)
}
