// Finds the process that leads the simulation, through the coordinators of a connection string.

import { type ConnectionString, parseConnectionString } from '../core/connection-string.ts'
import { type Connection, dial } from './json-lines.ts'

export const keyOf = ({ description, id }: ConnectionString): string => `${description}:${id}`

export interface LeaderSearch {
  /** The name of a database at its coordinators. */
  readonly key: (connection: ConnectionString) => string
  /** The address of the fdbserver that searches; undefined for clients. */
  readonly process?: string | undefined
  /** How many newer connection strings it follows. */
  readonly hops?: number
}

export interface Leader {
  readonly connection: Connection
  readonly address: string
}

/** One try. Follows the answer of coordinators that were replaced. */
export async function findLeader(
  connection: ConnectionString,
  { key, process, hops = 3 }: LeaderSearch,
): Promise<Leader | undefined> {
  for (const address of connection.coordinators) {
    const coordinator = await dial(address)
    const answer = await coordinator
      ?.request('locate', { key: key(connection), ...(process !== undefined && { process }) })
      .catch(() => undefined)
    coordinator?.close()
    const found = answer && (await follow(answer, { key, process, hops }))
    if (found !== undefined) return found
  }
  return undefined
}

async function follow(
  { leader, moved }: { readonly leader?: string; readonly moved?: string },
  search: LeaderSearch & { readonly hops: number },
): Promise<Leader | undefined> {
  if (leader !== undefined) {
    const connection = await dial(leader)
    return connection && { connection, address: leader }
  }
  const next = moved === undefined ? undefined : parseConnectionString(moved)
  return next === undefined || search.hops === 0
    ? undefined
    : await findLeader(next, { ...search, hops: search.hops - 1 })
}
